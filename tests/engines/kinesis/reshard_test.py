#!/usr/bin/env python3
"""Shards split and merge while lines are put: nothing that was acknowledged is lost.

usage: reshard_test.py WEIR ENGINE
"""

import sys
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
from streams import Stream  # noqa: E402
from put import ENGINES, Feeder, Put, check, real_lines  # noqa: E402
from put_proxy import PutProxy  # noqa: E402

ENGINE = sys.argv.pop()
WEIR = sys.argv.pop()


class Reshard(unittest.TestCase):
    def setUp(self):
        self.running = self.enterContext(ENGINES[ENGINE]())
        self.stream = Stream(self.running, "reshard", 2)
        self.proxy = self.enterContext(PutProxy(self.running))

    def split(self, place):
        self.stream.split(self.stream.open_shards()[place])

    def merge(self, place):
        self.stream.merge(*self.stream.open_shards()[place:place + 2])

    def test_nothing_acknowledged_is_lost(self):
        put = self.enterContext(Put(WEIR, self.stream, self.proxy.url, "--key-regex", "^[0-9]+",
                                    RecordTtl=120_000, wire_format="json"))
        steps = [(self.split, 0), (self.split, 2), (self.merge, 1), (self.merge, 0),
                 (self.split, 0), (self.merge, 1)]
        with Feeder(put, real_lines(), each=20, pause=0.02):
            for step, place in steps:
                self.proxy.wait_for_answers(2)
                step(place)
            self.proxy.wait_for_answers(2)
        report = put.finish()
        found = self.stream.read()
        print(f"{ENGINE}: {len(put.fed)} lines over {len(self.stream.shards())} shards, "
              f"{len(found.dropped)} in aggregates that consumers drop, {report}")
        check(self, put, report, found)
        self.assertEqual(report["failed"], 0)


if __name__ == "__main__":
    unittest.main()
