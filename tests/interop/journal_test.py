#!/usr/bin/env python3
"""The comparison of journals with a bucket finds what it exists for."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
import journal  # noqa: E402
from journal import Entry, Terms  # noqa: E402

TEN = Terms(0, 0, 10, 1)  # tokens; a token a second


def take(begin, end, amount=1):
    return Entry(begin, end, "take", {"rpm": amount})


def give(begin, end, amount=1):
    return Entry(begin, end, "give", {"rpm": amount})


class Excess(unittest.TestCase):
    def assert_possible(self, entries, terms=(TEN,), grants=()):
        self.assertIsNone(journal.excess(entries, "rpm", terms, grants))

    def assert_impossible(self, entries, terms=(TEN,), grants=()):
        self.assertRegex(journal.excess(entries, "rpm", terms, grants) or "", "lacks")

    def test_a_full_bucket_has_its_capacity(self):
        self.assert_possible([take(5, 6)] * 10)
        self.assert_impossible([take(5, 6)] * 11)

    def test_the_refill_of_the_time_between_requests_and_answers_counts(self):
        self.assert_possible([take(0, 1000)] * 11)
        self.assert_impossible([take(100, 1000)] * 11)

    def test_an_interval_later_has_no_more(self):
        self.assert_possible([take(60_000, 60_001)] * 10)
        self.assert_impossible([take(60_000, 60_001)] * 11)
        self.assert_impossible([take(0, 1)] + [take(60_000, 60_001)] * 11)

    def test_the_take_with_the_earliest_answer_goes_first(self):
        self.assert_possible([take(0, 5000, 5), take(0, 1, 10)])
        self.assert_impossible([take(0, 4900, 5), take(0, 1, 10)])

    def test_what_is_given_back_is_there_from_the_request_on(self):
        self.assert_possible([take(0, 1, 10), give(2, 9, 4), take(3, 4, 4)])
        self.assert_impossible([take(0, 1, 10), give(6, 9, 4), take(3, 4, 4)])

    def test_a_full_bucket_gains_nothing_by_what_is_given_back(self):
        self.assert_impossible([give(0, 1, 4), take(2, 3, 11)])

    def test_a_growing_capacity_keeps_what_is_used(self):
        terms = [TEN, Terms(100, 200, 15, 1)]
        self.assert_possible([take(0, 1, 6), take(100, 101, 9)], terms)
        self.assert_impossible([take(0, 1, 6), take(97, 98, 9)], terms)
        self.assert_impossible([take(0, 1, 6), take(100, 101, 10)], terms)

    def test_a_shrinking_capacity_ends_with_the_call(self):
        terms = [TEN, Terms(100, 200, 5, 1)]
        self.assert_possible([take(199, 200, 10)], terms)
        self.assert_impossible([take(201, 202, 6)], terms)

    def test_rates_change_likewise(self):
        faster = [TEN, Terms(1000, 2000, 10, 10)]
        self.assert_possible([take(0, 1, 10), take(2000, 2001, 11)], [TEN._replace(capacity=11)]
                             + [faster[1]._replace(capacity=11)])
        slower = [Terms(0, 0, 10, 10), Terms(100, 1000, 10, 1)]
        self.assert_possible([take(0, 1, 10), take(999, 1000, 10)], slower)
        self.assert_impossible([take(100, 101, 10), take(1001, 1901, 10)], slower)

    def test_grants(self):
        self.assert_possible([take(0, 1, 10), take(5, 6, 3)], grants=[(5, 3)])
        self.assert_impossible([take(0, 1, 10), take(5, 6, 4)], grants=[(5, 3)])

    def test_other_limits_do_not_count(self):
        self.assert_possible([Entry(0, 1, "take", {"tpm": 100, "rpm": 1})])


class Surplus(unittest.TestCase):
    def assert_surplus(self, entries, found):
        self.assertEqual(journal.surplus(entries, "rpm", TEN) is not None, found)

    def test_capacity_and_refill_since_the_start(self):
        self.assert_surplus([take(0, 1, 10), take(999, 999, 1)], False)
        self.assert_surplus([take(0, 1, 10), take(950, 950, 1)], True)

    def test_a_bucket_that_does_not_flow_over(self):
        self.assert_surplus([take(5000, 5000, 15)], False)
        self.assert_surplus([take(5000, 5000, 16)], True)

    def test_returns_count_from_their_request_on(self):
        self.assert_surplus([take(0, 1, 10), give(2, 9, 4), take(3, 4, 4)], False)
        self.assert_surplus([take(0, 1, 10), give(6, 9, 4), take(3, 4, 4)], True)


class Usage(unittest.TestCase):
    def test_windows(self):
        evening, night = 1_772_323_199_999, 1_772_323_200_000  # the last ms of February 2026
        entries = [take(evening, night, 4), give(evening, night, 1), take(night, night, 2),
                   Entry(night, night, "take", {"tpm": 7})]
        self.assertEqual(journal.usage(entries), {
            ("hourly", "2026-02-28T23:00:00Z", "rpm"): 3,
            ("hourly", "2026-03-01T00:00:00Z", "rpm"): 2,
            ("hourly", "2026-03-01T00:00:00Z", "tpm"): 7,
            ("daily", "2026-02-28T00:00:00Z", "rpm"): 3,
            ("daily", "2026-03-01T00:00:00Z", "rpm"): 2,
            ("daily", "2026-03-01T00:00:00Z", "tpm"): 7,
            ("monthly", "2026-02-01T00:00:00Z", "rpm"): 3,
            ("monthly", "2026-03-01T00:00:00Z", "rpm"): 2,
            ("monthly", "2026-03-01T00:00:00Z", "tpm"): 7})


class Reading(unittest.TestCase):
    def test_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "journal"
            file.write_text("10 12 take rpm=3 tpm=20\n13 14 give tpm=5\n")
            entries = journal.read(file)
        self.assertEqual(entries, [Entry(10, 12, "take", {"rpm": 3, "tpm": 20}),
                                   Entry(13, 14, "give", {"tpm": 5})])
        self.assertEqual([journal.net_consumption(entries, name) for name in ("rpm", "tpm", "x")],
                         [3, 15, 0])


if __name__ == "__main__":
    unittest.main()
