#!/usr/bin/env python3
"""The ordered mode on a bad day: what consumers get of a key first is in the order of its puts.

usage: order_test.py WEIR ENGINE
"""

import collections
import itertools
import sys
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
from streams import Stream  # noqa: E402
from put import ENGINES, Feeder, Put, check  # noqa: E402
from put_proxy import PutProxy  # noqa: E402

ENGINE = sys.argv.pop()
WEIR = sys.argv.pop()
KEYS = 16
FAULTS = ["pass", "reset", "error ProvisionedThroughputExceededException", "lose", "status 500",
          "cut"]


def lines():
    return (f"key{number % KEYS} {number}" for number in itertools.count())


def firsts(contents):
    """{key: its numbers in the order in which consumers see each for the first time}."""
    seen = collections.defaultdict(dict)
    for record in contents.delivered:
        key, number = record.data.decode().split()
        seen[key].setdefault(int(number))
    return {key: list(numbers) for key, numbers in seen.items()}


class Order(unittest.TestCase):
    def setUp(self):
        self.running = self.enterContext(ENGINES[ENGINE]())
        self.stream = Stream(self.running, "order", 2)
        self.proxy = self.enterContext(PutProxy(self.running))

    def through(self, fault):
        """A while of single entries throttled, and then of the fault as well."""
        self.proxy.wait_for_answers(2)
        self.proxy.set_mode(fault)
        self.proxy.wait_for_requests(2)
        self.proxy.set_mode("pass")

    def reshard(self, place):
        if place % 2 == 0:
            self.stream.split(self.stream.open_shards()[0])
        else:
            self.stream.merge(*self.stream.open_shards()[:2])

    def test_each_key_keeps_its_order(self):
        put = self.enterContext(Put(WEIR, self.stream, self.proxy.url, "--key-regex", "^key[0-9]+",
                                    "--ordered", RecordTtl=300_000, wire_format="json"))
        self.proxy.throttled_share = 0.3
        with Feeder(put, lines(), each=10, pause=0.02):
            for place, fault in enumerate(FAULTS):
                self.through(fault)
                self.reshard(place)
        self.proxy.throttled_share = 0
        report = put.finish()
        found = self.stream.read()
        print(f"{ENGINE}: {len(put.fed)} lines over {len(self.stream.shards())} shards, {report}")
        check(self, put, report, found)
        self.assertEqual(report["failed"], 0)
        self.assertGreater(report["retries"], 0)
        for key, numbers in firsts(found).items():
            self.assertEqual(numbers, sorted(numbers), key)


if __name__ == "__main__":
    unittest.main()
