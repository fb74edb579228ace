#!/usr/bin/env python3
"""`weir kinesis cat` of records that boto3 put: from a time, from a sequence number, one shard, and following.

usage: cat_test.py WEIR ENGINE
"""

import json
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
from streams import Stream, engine  # noqa: E402
from put import ENGINES  # noqa: E402

ENGINE = sys.argv.pop()
WEIR = sys.argv.pop()


class Cat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.running = cls.enterClassContext(ENGINES[ENGINE]())

    def setUp(self):
        self.stream = Stream(self.running, self._testMethodName, 2)
        self.shards = [shard["ShardId"] for shard in self.stream.shards()]
        self.put("early", 0)
        early, = self.stream.raw(self.stream.open_shards()[0])
        self.between = self.await_second_after(early["ApproximateArrivalTimestamp"])
        self.late = self.put("late", 1)

    def await_second_after(self, arrival):
        """Milliseconds since 1970, later than that by the service's clock, which dates records."""
        clock = Stream(self.running, self._testMethodName + "-clock")
        while True:
            clock.client.put_record(StreamName=clock.name, Data=b"tick", PartitionKey="k")
            now = list(clock.raw(clock.shards()[0]))[-1]["ApproximateArrivalTimestamp"]
            if int(now.timestamp()) > int(arrival.timestamp()):
                return int(now.timestamp()) * 1000

    def put(self, data, shard):
        """The sequence number."""
        first = self.stream.open_shards()[shard]["HashKeyRange"]["StartingHashKey"]
        return self.stream.client.put_record(
            StreamName=self.stream.name, Data=data.encode(), PartitionKey="k",
            ExplicitHashKey=first)["SequenceNumber"]

    def start(self, *options):
        return engine.start(
            [WEIR, "kinesis", "cat", "--stream", self.stream.name, "--endpoint", self.running.url,
             "--region", "us-east-1", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.running.environment())

    def cat(self, *options):
        process = self.start(*options)
        lines, complaint = process.communicate()
        self.assertEqual(process.returncode, 0, complaint)
        return sorted(lines.splitlines())

    def test_begins_at_a_time(self):
        self.assertEqual(self.cat(), ["early", "late"])
        self.assertEqual(self.cat("--from", str(self.between)), ["late"])
        self.assertEqual(self.cat("--from", "2001-01-01"), ["early", "late"])

    def test_begins_at_a_sequence_number_of_a_shard(self):
        self.put("later", 1)
        shard = json.loads(self.cat("--json", "--from", str(self.between))[0])["shard"]
        self.assertEqual(shard, self.shards[1])
        self.assertEqual(self.cat("--shard", shard, "--from", self.late), ["late", "later"])

    def test_reads_one_shard(self):
        self.assertEqual(self.cat("--shard", self.shards[0]), ["early"])
        self.stream.split(self.stream.open_shards()[0])
        self.put("in a child", 0)
        self.assertEqual(self.cat("--shard", self.shards[0], "--follow"), ["early"])

    def test_follows_into_children(self):
        process = self.start("--follow", "--from", str(self.between))
        self.assertEqual(process.stdout.readline(), "late\n")
        self.stream.split(self.stream.open_shards()[1])
        self.put("in a child", 1)
        self.assertEqual(process.stdout.readline(), "in a child\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate()[0], "")
        self.assertEqual(process.returncode, 130)


if __name__ == "__main__":
    unittest.main()
