"""What answers ListShards and PutRecords at once and keeps only what was stored how often: for
checks of a producer's own memory and time, which an engine would outweigh.

    with FakeService(shards=4) as service:
        use(service.url)
        service.stored
"""

import base64
import bisect
import collections
import http.server
import json
import threading

from streams import hash_key, user_records

HASH_KEYS = 2**128


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        operation = self.headers["X-Amz-Target"].rpartition(".")[2]
        body = json.dumps(getattr(self.server.service, operation)(asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class FakeService:
    """`stored`: how often each partition key of a user record was stored."""

    def __init__(self, shards=1):
        self.ranges = [(HASH_KEYS * n // shards, HASH_KEYS * (n + 1) // shards - 1)
                       for n in range(shards)]
        self.lock = threading.Lock()  # guards what follows
        self.stored = collections.Counter()

    def __enter__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.service = self
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def ListShards(self, _):
        return {"Shards": [
            {"ShardId": f"shardId-{n:012d}",
             "HashKeyRange": {"StartingHashKey": str(first), "EndingHashKey": str(last)},
             "SequenceNumberRange": {"StartingSequenceNumber": "1"}}
            for n, (first, last) in enumerate(self.ranges)]}

    def PutRecords(self, asked):
        entries = asked["Records"]
        keys = [one["partitionKey"] for entry in entries for one in user_records(
            entry["PartitionKey"], base64.b64decode(entry["Data"]))]
        with self.lock:
            self.stored.update(keys)
        return {"FailedRecordCount": 0, "Records": [
            {"ShardId": f"shardId-{self.shard_of(entry):012d}", "SequenceNumber": "1"}
            for entry in entries]}

    def shard_of(self, entry):
        place = hash_key({"explicitHashKey": entry.get("ExplicitHashKey"),
                          "partitionKey": entry["PartitionKey"]})
        return bisect.bisect([first for first, _ in self.ranges], place) - 1
