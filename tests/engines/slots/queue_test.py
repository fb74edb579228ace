#!/usr/bin/env python3
"""Events from a queue free slots, and leave the queue when they have.

usage: queue_test.py WEIR [UNITTEST_ARGUMENT...]
"""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import engine  # noqa: E402

MOTO_SECONDS = 60  # it answers no other request while one waits for messages, for up to 20 s
RULES = """
rules:
  - source: aws.emr
    id: detail.clusterId
    pattern: {detail.state: [TERMINATED]}
"""


def call_sqs(url, operation, request):
    answer = engine.post(url, json.dumps(request), {
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": f"AmazonSQS.{operation}",
        "X-Amz-Date": "20260101T000000Z",
        "Authorization": engine.ANY_SIGNATURE.format(service="sqs")}, MOTO_SECONDS)
    return json.loads(answer) if answer else {}


class Queue(unittest.TestCase):
    def setUp(self):
        self.moto = engine.Moto()
        self.moto.__enter__()
        self.addCleanup(self.moto.__exit__)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "rules.yaml").write_text(RULES)
        name = call_sqs(self.moto.url, "CreateQueue", {"QueueName": "ended"})["QueueUrl"]
        self.queue = self.moto.url + name[name.index("/", len("http://")):]

    def weir(self, *words):
        done = subprocess.run([WEIR, "--store", f"sqlite:{self.folder}/weir.db", "--json", *words],
                              text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def bound(self, thing):
        slot = self.weir("reserve", "emr", "acme", "--limit", "9")
        self.weir("reservation", "bind", "emr", "acme", slot["id"], thing)

    def held(self):
        return [slot["bound_to"] for slot in
                self.weir("reservation", "list", "emr", "acme")["slots"]]

    def send(self, body):
        call_sqs(self.moto.url, "SendMessage", {"QueueUrl": self.queue, "MessageBody": body})

    def told(self, thing, state="TERMINATED"):
        self.send(json.dumps({"source": "aws.emr", "time": "2030-01-01T00:00:00Z",
                              "detail": {"clusterId": thing, "state": state}}))

    def found(self, attribute):
        return int(call_sqs(self.moto.url, "GetQueueAttributes", {
            "QueueUrl": self.queue, "AttributeNames": ["All"]})["Attributes"][attribute])

    def left(self):
        """Messages in the queue, also those that somebody looks at."""
        return (self.found("ApproximateNumberOfMessages")
                + self.found("ApproximateNumberOfMessagesNotVisible"))

    def test_what_was_dealt_with_leaves_the_queue(self):
        for thing in ("j-1", "j-2", "j-3"):
            self.bound(thing)
        self.told("j-1")
        self.told("j-1")  # SQS may deliver twice
        self.told("j-2", "RUNNING")
        self.told("j-3")
        self.send("no event")
        watcher = engine.start(
            [WEIR, "--store", f"sqlite:{self.folder}/weir.db", "--json", "reservation", "events",
             "--rules", self.folder / "rules.yaml", "--sqs", self.queue],
            env=self.moto.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(watcher.kill)
        engine.wait_until(lambda: self.held() == ["j-2"], "only j-2 is held")
        watcher.send_signal(signal.SIGTERM)
        out, err = watcher.communicate(timeout=engine.WAIT_SECONDS)
        told = json.loads(out)
        self.assertEqual((told["slots"], told["bad"]), (2, 1))
        self.assertIn("1 events were not dealt with", err)
        self.assertEqual(watcher.returncode, 1, "one message was no event")
        self.assertEqual(self.left(), 1, "it is the queue's own rule what becomes of that")

    def test_r8_what_is_not_over_goes_back_when_the_command_stops(self):
        tables = engine.Moto()  # another one, as this one does nothing else while it waits for messages
        tables.__enter__()
        self.addCleanup(tables.__exit__)
        store = ["--store", "rate-limiter-py://ends"]
        subprocess.run([WEIR, *store, "table", "create"], env=tables.environment(),
                       capture_output=True, check=True)
        self.told("j-1")  # nothing is bound to it yet
        watcher = engine.start(
            [WEIR, *store, "--json", "reservation", "events", "--metrics",
             "--rules", self.folder / "rules.yaml", "--sqs", self.queue],
            env=tables.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(watcher.kill)
        engine.wait_until(lambda: self.found("ApproximateNumberOfMessagesNotVisible") == 1,
                          "one message is in flight")
        watcher.send_signal(signal.SIGTERM)
        out, err = watcher.communicate(timeout=engine.WAIT_SECONDS)
        self.assertEqual(watcher.returncode, 0, err)
        self.assertIn("weir_events_pending 1", json.loads(out)["metrics"], err)
        self.assertEqual(self.found("ApproximateNumberOfMessages"), 1,
                         "another process receives it at once")

    def test_r9_a_queue_that_does_not_exist_is_an_error(self):
        done = subprocess.run(
            [WEIR, "--store", f"sqlite:{self.folder}/weir.db", "reservation", "events",
             "--rules", self.folder / "rules.yaml", "--sqs", self.queue + "-gone"],
            env=self.moto.environment(), text=True, capture_output=True, check=False,
            timeout=engine.WAIT_SECONDS)
        self.assertEqual(done.returncode, 1)
        self.assertIn("ended-gone: ", done.stderr)
        self.assertIn("does not exist", done.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    WEIR = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
