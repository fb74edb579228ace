#!/usr/bin/env python3
"""Real text through four shards: consumers get each line once.

usage: readback_test.py WEIR ENGINE LINES
"""

import itertools
import sys
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
from streams import Stream  # noqa: E402
from put import ENGINES, Put, check, real_lines  # noqa: E402

LINES = int(sys.argv.pop())
ENGINE = sys.argv.pop()
WEIR = sys.argv.pop()
SHARDS = 4


class ReadBack(unittest.TestCase):
    def test_each_line_is_delivered_once(self):
        running = self.enterContext(ENGINES[ENGINE]())
        stream = Stream(running, "readback", SHARDS)
        put = self.enterContext(Put(WEIR, stream, running.url, "--key-regex", "^[0-9]+"))
        put.feed(itertools.islice(real_lines(), LINES))
        report = put.finish()
        found = stream.read()
        print(f"{ENGINE}: {LINES} lines, {found.kinesis_records} Kinesis records, {report}")
        check(self, put, report, found)
        self.assertEqual((report["failed"], report["maybe_duplicates"]), (0, 0))
        self.assertEqual(report["bytes"], sum(map(len, put.fed)))
        self.assertEqual(sorted(put.fed), sorted(data.decode() for data in found.data()))
        self.assertEqual(found.dropped, [])
        self.aggregated(found)
        self.assertEqual([key.key for key in found.delivered],
                         [key.data.decode().partition(",")[0] for key in found.delivered])
        for shard in stream.shards():
            self.assertNotEqual(list(stream.raw(shard)), [], f"{shard['ShardId']} is empty")

    def aggregated(self, found):
        """Also those that were put before the shards were known."""
        self.assertGreater(found.aggregates, 0)
        self.assertLess(found.kinesis_records, LINES / 100)


if __name__ == "__main__":
    unittest.main()
