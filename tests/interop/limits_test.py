#!/usr/bin/env python3
"""Weir and zae-limiter 0.17.0 on buckets whose limits either side raises and lowers.

usage: limits_test.py WEIR WEIR_PROCESS [UNITTEST_ARGUMENT...]

If a capacity changes, Weir keeps the used tokens. zae-limiter keeps the tokens that are left, as
far as the new capacity holds them.
"""

import sys
import time

sys.dont_write_bytecode = True  # the sources stay as they are
import on_table  # noqa: E402
from on_table import FORGET_SECONDS, Callers, OnTable  # noqa: E402
from sides import daily, limit  # noqa: E402

HUNDRED, MORE, FEWER = (daily("rpm", tokens) for tokens in (100, 200, 50))


class Quotas(OnTable):
    """A process of each side has resolved the limits before they change."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_both()

    def begin(self, side, taken):
        """`taken` is what each side takes of 100 rpm."""
        side.set_limits(self.level, HUNDRED)
        for taker in (self.process, self.other):
            self.take(taker, rpm=taken)

    def change(self, side, new, level=None):
        side.set_limits(level or self.level, new)
        self.assert_quota("rpm", new, f"after {side} has set it")

    def take_the_rest(self, wanted, new):
        """Half of it by processes that have resolved other limits before."""
        part = wanted // 4
        half = self.take_all("rpm", self.process, self.other, most=part)
        self.assert_taken(half, 2 * part, "processes that knew other limits")
        self.assert_quota("rpm", new, "after processes that knew other limits have asked")
        rest = self.take_all("rpm", self.new_weir_process(), self.other, self.process)
        self.assert_taken(half + rest, wanted, "all processes together")
        self.assert_quota("rpm", new, "after all processes were refused")

    def test_raised_by_weir(self):
        self.begin(self.weir, 30)
        self.change(self.weir, MORE)
        self.take_the_rest(140, MORE)

    def test_raised_by_the_peer(self):
        self.begin(self.peer, 30)
        self.change(self.peer, MORE)
        self.take_the_rest(40, MORE)

    def test_lowered_by_weir(self):
        self.begin(self.peer, 20)
        self.change(self.weir, FEWER)
        self.take_the_rest(10, FEWER)

    def test_lowered_by_the_peer(self):
        self.begin(self.weir, 20)
        self.change(self.peer, FEWER)
        self.take_the_rest(50, FEWER)

    def test_lowered_by_weir_below_what_is_used(self):
        self.begin(self.weir, 30)
        self.change(self.weir, FEWER)
        self.take_the_rest(0, FEWER)
        self.change(self.weir, HUNDRED)
        time.sleep(FORGET_SECONDS)
        self.take_the_rest(40, HUNDRED)

    def test_D6_the_peer_lowers_and_weir_asks_once(self):
        """A change must not be undone by one request of a process that knows the old limits."""
        self.begin(self.peer, 10)
        self.change(self.peer, FEWER)
        self.try_take(self.process, rpm=1)
        self.assert_quota("rpm", FEWER, "after one request of weir, which knew other limits")
        self.assertLessEqual(self.peer("available", self.entity, self.resource)["rpm"], 50,
                             self.bucket)

    def test_D6_weir_lowers_and_asks_nothing(self):
        """A change must reach zae-limiter without a request of Weir."""
        self.begin(self.peer, 10)
        self.change(self.weir, FEWER)
        self.assert_taken(self.take_all("rpm", self.other), 30, "zae-limiter alone")

    def test_D6_limits_of_the_entity_reach_all_its_buckets(self):
        level = f"entity:{self.entity}"
        for side in (self.weir, self.peer):
            with self.subTest(side=str(side)):
                self.peer.set_limits(level, HUNDRED)
                self.take(self.other, rpm=1)
                self.take(self.process, rpm=1)
                self.change(side, FEWER, level)
                self.take(self.process, rpm=1)
                self.assert_quota("rpm", FEWER, "after weir, which knew other limits, has asked")

    def test_limits_of_the_resource_reach_a_bucket_by_a_new_process_of_weir(self):
        level = f"resource:{self.resource}"
        for side in (self.weir, self.peer):
            with self.subTest(side=str(side)):
                for new in (HUNDRED, FEWER):
                    side.set_limits(level, new)
                    self.take(self.new_weir_process(), rpm=1)
                    self.assert_quota("rpm", new, f"after {side} has set it and weir has asked")


class LiveQuotas(OnTable):
    """Processes of both sides take while both sides change the limits."""

    def test_quotas_change_under_load(self):
        callers = Callers(self, rpm=1)
        callers.begin(self.peer, limit("rpm", 100, 50, 1), f"resource:{self.resource}")
        callers.start(self.new_peer(), self.new_weir_process(), self.new_weir_process())
        for side, capacity, rate in ((self.peer, 60, 30), (self.weir, 200, 100),
                                     (self.weir, 20, 20), (self.peer, 150, 80)):
            time.sleep(0.7)
            self.set_quota(callers, side, capacity, rate)
        for remover, setter in ((self.weir, self.peer), (self.peer, self.weir)):
            time.sleep(0.7)
            callers.change(lambda: remover.delete_limits(self.level), 100, 50)
            time.sleep(0.7)
            self.set_quota(callers, setter, 30, 40)
        time.sleep(0.7)
        callers.stop()
        callers.check("rpm")
        self.assert_quota("rpm", limit("rpm", 30, 40, 1), "after all callers have stopped")
        self.assert_balances_agree("rpm")

    def set_quota(self, callers, side, capacity, rate):
        new = limit("rpm", capacity, rate, 1)
        if side is self.peer and rate > callers.terms[-1].rate:
            # zae-limiter does not refill first: the new rate counts since the last refill.
            since = time.time() - min(item["rf"] for item in self.bucket.shards().values()) / 1000
            callers.grant((rate - callers.terms[-1].rate) * since)
        callers.change(lambda: side.set_limits(self.level, new), capacity, rate)


if __name__ == "__main__":
    on_table.main(__doc__)
