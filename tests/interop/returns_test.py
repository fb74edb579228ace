#!/usr/bin/env python3
"""Weir and zae-limiter 0.17.0 give back, and correct, what they took from one bucket.

usage: returns_test.py WEIR WEIR_PROCESS [UNITTEST_ARGUMENT...]
"""

import sys
import time

sys.dont_write_bytecode = True  # the sources stay as they are
import on_table  # noqa: E402
from on_table import CREEP, FORGET_SECONDS, Callers, OnTable  # noqa: E402
from sides import daily, limit  # noqa: E402

HUNDRED = daily("rpm", 100)
QUICK = limit("rpm", 100, 200, 1)  # full after half a second
SECONDS_TO_FULL = 0.7


class Returns(OnTable):
    """Either side gives back; the other one takes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_both()

    def each_way(self, check):
        sides = [self.process, self.other]
        name = self.id().rpartition(".")[2]
        for giver, taker in (sides, sides[::-1]):
            with self.subTest(giver=str(giver)):
                self.use_bucket(f"{name}_{giver}")
                self.peer.set_limits(self.level, HUNDRED)
                check(giver, taker)

    def assert_state(self, used, what):
        self.assertEqual(self.bucket.consumed("rpm"), used, f"used tokens: {what}; {self.bucket}")
        self.assertAlmostEqual(self.bucket.tokens("rpm"), 100 - used, delta=CREEP,
                               msg=f"tokens left: {what}; {self.bucket}")

    def test_a_part(self):
        def check(giver, taker):
            lease = self.take(giver, rpm=80)
            self.take(taker, rpm=20)
            self.assertFalse(self.try_take(taker, rpm=1), self.bucket)
            giver.end(lease, rpm=-30)
            self.assert_state(70, "100 less 30 that were given back")
            time.sleep(FORGET_SECONDS)
            self.assert_taken(self.take_all("rpm", taker), 30, str(taker))
        self.each_way(check)

    def test_all_by_a_cancelled_lease(self):
        def check(giver, taker):
            giver.cancel(self.take(giver, rpm=80))
            self.assert_state(0, "all was given back")
            self.assert_taken(self.take_all("rpm", taker), 100, str(taker))
        self.each_way(check)

    def test_a_correction_leaves_debt(self):
        def check(giver, taker):
            giver.end(self.take(giver, rpm=80), rpm=50)
            self.assert_state(130, "80 and 50 more")
            self.assertFalse(self.try_take(taker, rpm=1), self.bucket)
        self.each_way(check)

    def test_a_full_bucket_gains_nothing(self):
        def check(giver, taker):
            self.peer.set_limits(self.level, QUICK)
            lease = self.take(giver, rpm=100)
            time.sleep(SECONDS_TO_FULL)
            giver.end(lease, rpm=-100)
            self.assertEqual(self.bucket.consumed("rpm"), 0, self.bucket)
            begin = time.monotonic()
            got = self.take_all("rpm", taker, giver, amount=10)
            refill = 200 * (time.monotonic() - begin)
            self.assertLessEqual(got, 100 + refill, f"more than a full bucket; {self.bucket}")
        self.each_way(check)

    def test_D6_after_the_other_side_has_lowered_the_capacity(self):
        def check(giver, taker):
            lease = self.take(giver, rpm=40)
            changer = self.peer if str(taker) == str(self.peer) else self.weir
            changer.set_limits(self.level, daily("rpm", 30))
            giver.end(lease, rpm=-40)
            self.assertEqual(self.bucket.consumed("rpm"), 0, self.bucket)
            got = self.take_all("rpm", taker, giver, self.new_weir_process())
            self.assert_taken(got, 30, "both sides")
            self.assert_quota("rpm", daily("rpm", 30), "after both sides were refused")
        self.each_way(check)


class Cascades(OnTable):
    """What a child gives back, its parent gets back."""

    def test_both_sides_charge_and_return_to_the_parent(self):
        self.peer.set_limits(f"resource:{self.resource}", HUNDRED)
        self.peer("entity", "org")
        self.peer("entity", "child", "org")
        for side in (self.new_weir_process(), self.peer):
            for given in (0, 3, 5):
                side.end(side.take("child", self.resource, rpm=5), rpm=-given)
        for entity in ("child", "org"):
            bucket = self.stored(entity)
            self.assertEqual(bucket.consumed("rpm"), 14, f"{entity}, twice 5 + 2 + 0; {bucket}")
            self.assertAlmostEqual(bucket.tokens("rpm"), 86, delta=CREEP, msg=f"{entity}; {bucket}")


class LiveReturns(OnTable):
    """Callers of both sides take and give back, some of it or all."""

    def run_callers(self, *others, **amounts):
        rpm = limit("rpm", 100, 50, 1)
        callers = Callers(self, gives_back=True, **amounts)
        callers.begin(self.peer, rpm)
        if others:
            self.peer.set_limits(self.level, rpm, *others)
        callers.start(self.new_peer(), self.new_weir_process(), self.new_weir_process())
        time.sleep(3)
        callers.stop()
        for name in amounts:
            callers.check_consumption(name, callers.entries())
            self.assert_balances_agree(name)
        callers.check("rpm")

    def test_of_one_limit(self):
        self.run_callers(rpm=5)

    def test_of_two_limits(self):
        self.run_callers(limit("tpm", 20_000, 10_000, 1), rpm=3, tpm=700)


if __name__ == "__main__":
    on_table.main(__doc__)
