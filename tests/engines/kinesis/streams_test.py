#!/usr/bin/env python3
"""Reading back finds what is lost, double, damaged and what consumers drop; no weir is used.

usage: streams_test.py [UNITTEST_ARGUMENT...]
"""

import sys
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
import streams  # noqa: E402
from streams import engine  # noqa: E402
from aws_kinesis_agg import aggregator  # noqa: E402


def aggregate(*records, hash_key=None):
    packed = aggregator.RecordAggregator()
    for key, data in records:
        packed.add_user_record(key, data, hash_key)
    return packed.clear_and_get().get_contents()[2]


class OnAnEngine:
    """The same on each of them."""

    @classmethod
    def setUpClass(cls):
        cls.running = cls.engine()
        cls.running.__enter__()
        cls.addClassCleanup(cls.running.__exit__)

    def stream(self, shards):
        return streams.Stream(self.running, self.id().rsplit(".", 1)[1], shards)

    def put(self, stream, data, place=0):
        """To the shard that holds the hash key `place`."""
        answer = stream.client.put_record(StreamName=stream.name, PartitionKey="a", Data=data,
                                          ExplicitHashKey=str(place))
        return answer["ShardId"]

    def test_aggregates_and_others_are_delivered_in_order(self):
        stream = self.stream(1)
        self.put(stream, b"alone")
        self.put(stream, aggregate(("x", b"1"), ("y", b"2")))
        self.put(stream, b"last")
        found = stream.read()
        self.assertEqual(found.data(), [b"alone", b"1", b"2", b"last"])
        self.assertEqual([record.key for record in found.delivered], ["a", "x", "y", "a"])
        self.assertEqual((found.kinesis_records, found.aggregates), (3, 1))
        self.assertEqual((found.dropped, found.damaged), ([], 0))

    def test_more_than_a_page_is_read(self):
        stream = self.stream(2)
        for first in range(0, 2_500, 500):
            stream.client.put_records(StreamName=stream.name, Records=[
                {"PartitionKey": str(n), "Data": str(n).encode()}
                for n in range(first, first + 500)])
        self.assertEqual(sorted(map(int, stream.read().data())), list(range(2_500)))

    def test_an_aggregate_with_one_record_of_another_shard_is_dropped_whole(self):
        stream = self.stream(2)
        low, high = map(streams.hash_range, stream.open_shards())
        keys = [str(n) for n in range(100)]
        here = next(key for key in keys if md5(key) <= low[1])
        there = next(key for key in keys if md5(key) >= high[0])
        self.put(stream, aggregate((here, b"1"), (there, b"2")))
        self.put(stream, aggregate((here, b"3"), (there, b"4"), hash_key="5"))
        found = stream.read()
        self.assertEqual(found.data(), [b"3", b"4"])
        self.assertEqual([record.data for record in found.dropped], [b"1", b"2"])

    def test_a_damaged_aggregate_is_counted(self):
        stream = self.stream(1)
        good = aggregate(("x", b"1"), ("y", b"2"))
        self.put(stream, good[:-1] + bytes([good[-1] ^ 1]))
        self.assertEqual(stream.read().damaged, 1)

    def test_children_are_read_after_their_parents(self):
        stream = self.stream(1)
        self.assertEqual(self.put(stream, b"1"), "shardId-000000000000")
        stream.split(*stream.open_shards())
        self.assertEqual(self.put(stream, b"2"), "shardId-000000000001")
        stream.merge(*stream.open_shards())
        self.assertEqual(self.put(stream, b"3"), "shardId-000000000003")
        self.assertEqual(len(stream.open_shards()), 1)
        self.assertEqual(stream.read().data(), [b"1", b"2", b"3"])


class KinesisLocal(OnAnEngine, unittest.TestCase):
    engine = engine.KinesisLocal


@unittest.skipUnless(engine.Ferrokinesis.needs.exists(), "install.py ferrokinesis installs it")
class Ferrokinesis(OnAnEngine, unittest.TestCase):
    @staticmethod
    def engine():
        return engine.Ferrokinesis(limits=False)

    def test_with_limits_a_shard_throttles(self):
        with engine.Ferrokinesis() as running:
            self.put_too_many(streams.Stream(running, "limited"))

    def put_too_many(self, stream):
        answers = [stream.client.put_records(StreamName=stream.name, Records=[
            {"PartitionKey": str(n), "Data": b"x"} for n in range(500)]) for _ in range(10)]
        self.assertGreater(sum(answer["FailedRecordCount"] for answer in answers), 0)
        codes = {entry.get("ErrorCode") for answer in answers for entry in answer["Records"]}
        self.assertEqual(codes, {None, "ProvisionedThroughputExceededException"})


def md5(key):
    return streams.hash_key({"partitionKey": key})


if __name__ == "__main__":
    unittest.main()
