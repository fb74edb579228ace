#!/usr/bin/env python3
"""One shard that enforces its limits, offered three times as much: it is filled, and not throttled.

usage: rates_test.py WEIR ENGINE

ENGINE is one that enforces limits: ferrokinesis. It counts in whole seconds of its clock, so that a
full bucket and the second's allowance may meet in the first; what follows may not be throttled.
"""

import collections
import itertools
import sys
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
from streams import Stream  # noqa: E402
from put import ENGINES, Feeder, Put, check, real_lines  # noqa: E402
from put_proxy import PutProxy  # noqa: E402

ENGINE = sys.argv.pop()
WEIR = sys.argv.pop()
SECONDS = 30
RECORDS, BYTES = 1000, 1 << 20  # a shard's, in a second
LEAST = 0.95
LARGE = 1 << 16
TICKS = 8  # a second


def one(_):
    return 1


def large_lines():
    """Real text, and as much of it as makes one large line."""
    rows = real_lines()
    while True:
        first, *others = itertools.islice(rows, 3000)
        yield ";".join([first, *others])[:LARGE]


class Rates(unittest.TestCase):
    def setUp(self):
        self.running = self.enterContext(ENGINES[ENGINE]())
        self.stream = Stream(self.running, "rates", 1)
        self.proxy = self.enterContext(PutProxy(self.running))

    def offer(self, lines, rate):
        """So many lines a second, three times what the shard takes, until what is left is enough
        for it to the end."""
        put = self.enterContext(Put(WEIR, self.stream, self.proxy.url, "--key-regex", "^[0-9]+",
                                    AggregationEnabled="false", RecordTtl=600_000, wire_format="json"))
        wanted = rate / 3 * (SECONDS + 3)
        with Feeder(put, lines, each=rate // TICKS, pause=1 / TICKS):
            while len(put.fed) < wanted:
                self.proxy.wait_for_answers(1)
        return put

    def stored_in(self, contents, size_of):
        """In SECONDS, from one second after the first."""
        begin = min(record.arrived for record in contents.delivered) + 1
        return sum(size_of(record.data) for record in contents.delivered
                   if begin <= record.arrived < begin + SECONDS)

    def throttles(self):
        """Entries, by the second after the first answer."""
        begin = self.proxy.answers[0].time
        by_second = collections.Counter()
        for answer in self.proxy.answers:
            by_second[int(answer.time - begin)] += answer.throttled
        return +by_second

    def fill(self, lines, size_of, rate):
        put = self.offer(lines, 3 * rate)
        report = put.finish()
        found = self.stream.read()
        limit = RECORDS if size_of is one else BYTES
        share = self.stored_in(found, size_of) / (SECONDS * limit)
        throttles = self.throttles()
        print(f"{ENGINE}: {share:.1%} of {limit}/s; throttled in each second: "
              f"{dict(sorted(throttles.items()))}; {report}")
        check(self, put, report, found)
        self.assertEqual(report["failed"], 0)
        self.assertGreaterEqual(share, LEAST)
        self.assertEqual([second for second in throttles if second > 0], [])

    def test_small_records(self):
        self.fill(real_lines(), one, RECORDS)

    def test_large_records(self):
        self.fill(large_lines(), len, BYTES // LARGE)


if __name__ == "__main__":
    unittest.main()
