#!/usr/bin/env python3
"""Weir and zae-limiter 0.17.0 on buckets with limits that either side removes and adds again.

usage: leaving_limits_test.py WEIR WEIR_PROCESS [UNITTEST_ARGUMENT...]

A limit that zae-limiter removes leaves with its used tokens. One that Weir removes keeps them, and
continues with them if it is added again (docs/design/acquire.md, Limits that leave and join again).
"""

import sys
import time

sys.dont_write_bytecode = True  # the sources stay as they are
import on_table  # noqa: E402
from on_table import Callers, OnTable  # noqa: E402
from sides import daily, limit  # noqa: E402

RPM, TPM = daily("rpm", 100), daily("tpm", 1000)


class LeavingLimits(OnTable):
    """The resource has rpm, the entity rpm and tpm, of which each side has taken."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_both()

    def setUp(self):
        super().setUp()
        self.peer.set_limits(f"resource:{self.resource}", RPM)
        self.peer.set_limits(self.level, RPM, TPM)
        for side in (self.process, self.other):
            self.take(side, rpm=10, tpm=300)

    def assert_unknown(self, side):
        with self.assertRaisesRegex(AssertionError, "tpm", msg=f"{side} knows tpm; {self.bucket}"):
            self.try_take(side, rpm=1, tpm=1)

    def test_removed_by_the_peer(self):
        self.peer.delete_limits(self.level)
        self.assert_quota("tpm", None, "after zae-limiter has removed it")
        self.take(self.process, rpm=1)
        self.assert_quota("tpm", None, "after a request of weir, which knew other limits")
        self.peer.set_limits(self.level, RPM, TPM)
        got = self.take_all("tpm", self.new_weir_process(), self.other, amount=10)
        self.assert_taken(got, 1000, "both sides, of a limit that began again")
        self.assertEqual(self.bucket.consumed("rpm"), 21, f"used rpm, which stays; {self.bucket}")

    def test_removed_by_weir_and_added_by_either_side(self):
        for side in (self.peer, self.weir):
            with self.subTest(side=str(side)):
                used = self.bucket.consumed("tpm")
                self.weir.delete_limits(self.level)
                newcomer = self.new_weir_process()
                self.take(newcomer, rpm=1)
                self.assert_unknown(newcomer)
                side.set_limits(self.level, RPM, TPM)
                self.take(newcomer, rpm=1)
                self.assertEqual(self.bucket.consumed("tpm"), used, f"used tpm; {self.bucket}")
                self.take(self.other, tpm=100)
        self.assert_quota("tpm", TPM, "after it was added again")
        got = self.take_all("tpm", self.new_weir_process(), self.other, amount=10)
        self.assert_taken(got, 200, "both sides, of 1000 less 800 that were used before")

    def test_D5_the_peer_adds_a_limit(self):
        """Its parameter sync leaves a capacity without a balance."""
        self.peer.set_limits(self.level, RPM, TPM, daily("tph", 500))
        self.assertIsNone(self.bucket.tokens("tph"), f"the balance of tph; {self.bucket}")
        self.take(self.process, rpm=1)
        got = self.take_all("tph", self.new_weir_process(), self.other, amount=10)
        self.assert_taken(got, 500, "both sides")

    def test_removed_while_leases_are_active(self):
        leases = [(side, self.take(side, rpm=1, tpm=100)) for side in (self.process, self.other)]
        self.peer.delete_limits(self.level)
        for side, lease in leases:
            side.end(lease, rpm=-1, tpm=-100)
        self.assertEqual(self.bucket.consumed("rpm"), 20, f"rpm is given back; {self.bucket}")
        self.peer.set_limits(self.level, RPM, TPM)
        got = self.take_all("tpm", self.new_weir_process(), self.other, amount=10)
        self.assertLessEqual(got, 1000, f"more tpm than its capacity; {self.bucket}")


class LiveLimits(OnTable):
    def test_a_limit_joins_and_leaves_under_load(self):
        callers = Callers(self, rpm=1)
        rpm, tpm = limit("rpm", 100, 50, 1), limit("tpm", 100, 10, 1)
        self.peer.set_limits(f"resource:{self.resource}", rpm)
        callers.begin(self.peer, rpm)
        callers.start(self.new_peer(), self.new_weir_process())
        for adder, remover in ((self.peer, self.peer), (self.weir, self.peer),
                               (self.peer, self.weir), (self.weir, self.weir)):
            time.sleep(0.5)
            adder.set_limits(self.level, rpm, tpm)
            time.sleep(0.5)
            remover.delete_limits(self.level)
        callers.stop()
        callers.check("rpm")
        self.assert_balances_agree("rpm")


if __name__ == "__main__":
    on_table.main(__doc__)
