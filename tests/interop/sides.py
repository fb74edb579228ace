"""Weir and the peer as a test drives them: each on one table of one running engine."""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "engines"))
import engine  # noqa: E402

CAPACITY, RATE = 200, 100
BUSY = {"name": "rpm", "capacity": CAPACITY, "refill_amount": RATE, "refill_period_seconds": 1}
# A bucket is made by a request that is on its way; its first answer comes so much later, at most.
FIRST_ANSWER_MS = 100


class Peer:
    """peer.py at work on one table."""

    def __init__(self, running, table):
        self.command = [engine.PYTHON, HERE / "peer.py", "--table", table]
        self.table, self.environment = table, running.environment()
        self.server = engine.start([*self.command, "serve"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, env=self.environment)

    def __call__(self, *words):
        self.server.stdin.write(json.dumps(["--table", self.table, *map(str, words)]) + "\n")
        self.server.stdin.flush()
        answer = json.loads(self.server.stdout.readline() or '{"error": "the peer has ended"}')
        if "error" in answer:
            raise AssertionError(f"peer {words}: {answer['error']}")
        return answer

    def set_limits(self, level, *limits):
        self("limits", level, json.dumps(limits))

    def close(self):
        self.server.communicate()


class Weir:
    """The binary at work on one table."""

    def __init__(self, running, weir, table):
        self.environment = running.environment()
        self.command = [weir, "--json", "--store", f"dynamodb://{table}?endpoint={running.url}"
                        "&region=us-east-1&namespace=default"]

    def run(self, *words):
        return subprocess.run([*self.command, *map(str, words)], text=True, capture_output=True,
                              check=False, env=self.environment)

    def __call__(self, *words):
        done = self.run(*words)
        if done.returncode != 0:
            raise AssertionError(f"weir {words}: exit code {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def limits(self, *level):
        return self(level[0], "get-limits", *level[1:])["limits"]

    def consumed(self, entity, resource):
        """limit -> tokens, of all shards."""
        tokens = {}
        for bucket in self("buckets", entity, "--resource", resource)["buckets"]:
            for limit in bucket["limits"]:
                tokens[limit["name"]] = tokens.get(limit["name"], 0) + limit["consumed"]
        return tokens


class Load:
    """Programs that ask for tokens of one bucket at once for some seconds, and what they got."""

    def __init__(self, seconds, peer, weir=None):
        with tempfile.TemporaryDirectory() as folder:
            acknowledged = pathlib.Path(folder) / "acknowledged"
            acknowledged.touch()
            commands = [[*peer.command, "load", "acme", "busy", "rpm=1", "--threads", "4",
                         "--seconds", str(seconds)]]
            if weir:
                commands.append([*weir.command, "load", "acme", "busy", "rpm=1", "--workers", "4",
                                 "--duration", f"{seconds}s", "--acknowledged", acknowledged])
            running = [engine.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True, env=peer.environment) for command in commands]
            self.reports = [report_of(process, seconds * 5) for process in running]
            lines = acknowledged.read_text().splitlines()
        times = [int(line.split(" ")[0]) for line in lines]
        first = min([self.reports[0]["first_ms"], *(at - FIRST_ANSWER_MS for at in times)])
        self.seconds = (max([self.reports[0]["last_ms"] or 0, *times]) - first) / 1000

    def check(self, test, peer):
        """Fails if: a side answers "admitted" without taking from the bucket, or takes twice."""
        admitted = [report["admitted"] for report in self.reports]
        for report in self.reports:
            test.assertEqual(report["errors"], 0, report)
            # Each got some and wanted more: else the bound would say nothing.
            test.assertGreater(min(report["admitted"], report["refused"]), 0, report)
        test.assertGreater(sum(admitted), CAPACITY)
        bound = CAPACITY + RATE * self.seconds
        test.assertLessEqual(sum(admitted), bound, f"{admitted} in {self.seconds} s")
        stored = peer("read", "acme", "busy")["buckets"]["rpm"]
        test.assertEqual(stored["tc"], sum(admitted) * 1000)
        print(f"{type(test).__name__}: admitted {admitted} in {self.seconds:.1f} s, bound "
              f"{bound:.0f}, shards {stored['shards']}, calls {self.reports[0]['calls']}")


def report_of(process, timeout):
    told, error = process.communicate(timeout=timeout)
    if not told:
        raise AssertionError(f"{process.args[0]}: no report: {error}")
    return json.loads(told) | {"stderr": error}


def all_items(running, table):
    """The table as it is stored, for a comparison."""
    items, start = [], {}
    while True:
        page = engine.call_dynamodb(running.url, "Scan", {"TableName": table, **start})
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return sorted(items, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
