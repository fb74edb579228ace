#!/usr/bin/env python3
"""The proxy throttles single entries and keeps the answers; the fake service counts what it stores.

usage: put_proxy_test.py
"""

import base64
import sys
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
from streams import engine  # noqa: E402
from fake_service import FakeService  # noqa: E402
from put_proxy import PutProxy  # noqa: E402
from aws_kinesis_agg import aggregator  # noqa: E402


class Proxy(unittest.TestCase):
    def setUp(self):
        self.service = self.enterContext(FakeService())
        self.proxy = self.enterContext(PutProxy(self.service))

    def put(self, count):
        return engine.call_kinesis(self.proxy.url, "PutRecords", {"StreamName": "s", "Records": [
            {"PartitionKey": str(n), "Data": "eA=="} for n in range(count)]})

    def refused(self, answer):
        return [n for n, entry in enumerate(answer["Records"]) if entry.get("ErrorCode")]

    def test_all_pass_without_a_share(self):
        answer = self.put(10)
        self.assertEqual((self.refused(answer), answer["FailedRecordCount"]), ([], 0))
        self.assertEqual(sorted(self.service.stored), [str(n) for n in range(10)])
        self.assertEqual([reply[1:] for reply in self.proxy.answers], [(10, 0)])

    def test_what_is_throttled_is_not_stored_and_the_rest_is(self):
        self.proxy.throttled_share = 0.5
        answer = self.put(100)
        refused = self.refused(answer)
        self.assertEqual(len(refused), answer["FailedRecordCount"])
        self.assertTrue(20 < len(refused) < 80, refused)
        self.assertEqual(set(self.service.stored),
                         {str(n) for n in range(100) if n not in refused})
        self.assertEqual([reply[1:] for reply in self.proxy.answers], [(100, len(refused))])

    def test_a_request_is_never_empty(self):
        self.proxy.throttled_share = 1
        self.assertEqual(len(self.refused(self.put(3))), 2)

    def test_a_fault_hits_what_is_not_throttled(self):
        self.proxy.set_mode("lose")
        with self.assertRaises(OSError):
            self.put(1)
        self.assertEqual(dict(self.service.stored), {"0": 1})

    def test_other_operations_pass(self):
        self.proxy.throttled_share = 1
        shard, = engine.call_kinesis(self.proxy.url, "ListShards", {"StreamName": "s"})["Shards"]
        self.assertEqual(shard["HashKeyRange"],
                         {"StartingHashKey": "0", "EndingHashKey": str(2**128 - 1)})


class Service(unittest.TestCase):
    """The fake one answers as an engine would."""

    def test_it_counts_user_records_and_names_the_shard(self):
        packed = aggregator.RecordAggregator()
        packed.add_user_record("x", b"1")
        packed.add_user_record("y", b"2")
        service = self.enterContext(FakeService(shards=2))
        places = [{"PartitionKey": "a", "Data": base64.b64encode(data).decode(),
                   "ExplicitHashKey": str(place)}
                  for data, place in ((packed.clear_and_get().get_contents()[2], 2**127),
                                      (b"alone", 2**127 - 1))]
        answer = engine.call_kinesis(service.url, "PutRecords",
                                     {"StreamName": "s", "Records": places})
        self.assertEqual([entry["ShardId"] for entry in answer["Records"]],
                         ["shardId-000000000001", "shardId-000000000000"])
        self.assertEqual(dict(service.stored), {"x": 1, "y": 1, "a": 1})


if __name__ == "__main__":
    unittest.main()
