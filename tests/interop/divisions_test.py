#!/usr/bin/env python3
"""Weir and zae-limiter 0.17.0 on buckets that either side divides into shards.

usage: divisions_test.py WEIR WEIR_PROCESS [UNITTEST_ARGUMENT...]

Weir divides the balance. zae-limiter raises the number of shards; a new shard is created by the
process that draws it: by Weir with a part of the balance, by zae-limiter full, so that each of its
doublings may mint half of the capacity. What does not fit in a shard after a doubling of
zae-limiter is lost.
"""

import sys
import time

sys.dont_write_bytecode = True  # the sources stay as they are
import on_table  # noqa: E402
from on_table import CREEP, Callers, OnTable  # noqa: E402
from sides import daily, engine, limit  # noqa: E402

HUNDRED, MORE = daily("rpm", 100), daily("rpm", 200)
HOT = 100_000  # of 1,000,000 that `wcu` has: Weir divides below 300,000
LONG_HOT = -20_000_000  # so that what it regains in seconds does not matter
DRAWS = 30
WAIT_SECONDS = 10


class Divisions(OnTable):
    """Each side has taken 10 of 100 rpm."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_both()

    def setUp(self):
        super().setUp()
        self.begin()

    def begin(self):
        self.peer.set_limits(self.level, HUNDRED)
        self.leases = [(side, self.take(side, rpm=10)) for side in (self.process, self.other)]

    def divided_by_weir(self):
        """Returns how many tokens this takes, as the next one."""
        self.bucket.set(0, b_wcu_tk=LONG_HOT)
        self.take(self.process, rpm=1)
        engine.wait_until(lambda: len(self.bucket.shards()) == 2, "weir has divided the bucket",
                          WAIT_SECONDS)
        return 1

    def divided_by_the_peer(self, shards=1):
        """`shards` are there before. A request of Weir that draws a new shard completes it."""
        self.assertEqual(self.other("divide", self.entity, self.resource, shards), 2 * shards)
        for taken in range(1, DRAWS + 1):
            self.take(self.process, rpm=1)
            if len(self.bucket.shards()) == 2 * shards:
                return taken
        self.fail(f"{DRAWS} requests of weir do not complete the division; {self.bucket}")

    def assert_left(self, wanted):
        self.assertAlmostEqual(self.bucket.tokens("rpm"), wanted, delta=CREEP,
                               msg=f"tokens left in all shards; {self.bucket}")

    def test_by_weir(self):
        self.divided_by_weir()
        self.assert_left(79)
        got = self.take_all("rpm", self.process, self.other, self.new_weir_process())
        self.assertLessEqual(got, 79, f"more than was left; {self.bucket}")
        self.assertGreaterEqual(got, 77, f"a token or more of a shard is refused; {self.bucket}")

    def test_by_the_peer_completed_by_weir(self):
        taken = self.divided_by_the_peer()
        got = self.take_all("rpm", self.process, self.other)
        self.assertLessEqual(taken + got, 80, f"more than was left; {self.bucket}")
        self.assertGreaterEqual(taken + got, 48, f"less than fits in a shard; {self.bucket}")

    def test_by_the_peer_which_creates_the_shard(self):
        self.other("divide", self.entity, self.resource, 1)
        for _ in range(20):
            self.take(self.other, rpm=1)
        self.assertEqual(len(self.bucket.shards()), 2, f"after 20 draws; {self.bucket}")
        got = self.take_all("rpm", self.process)
        self.assertLessEqual(got, 60 + 50, f"weir adds to the minted half; {self.bucket}")

    def test_by_one_side_after_the_other(self):
        self.divided_by_weir()
        taken = self.divided_by_the_peer(2)
        self.assertLessEqual(self.bucket.tokens("rpm"), 79 + CREEP - taken, self.bucket)
        self.assertEqual({item["shard_count"] for item in self.bucket.shards().values()}, {4},
                         f"the number of shards in each; {self.bucket}")

    def test_tokens_from_before_go_back_after(self):
        for divide in (self.divided_by_weir, self.divided_by_the_peer):
            with self.subTest(divide.__name__):
                self.use_bucket(f"back_after_{divide.__name__}")
                self.begin()
                taken = divide()
                for side, lease in self.leases:
                    side.end(lease, rpm=-10)
                self.assertLessEqual(self.bucket.tokens("rpm"), 100 + CREEP - taken, self.bucket)
                self.assertEqual(self.bucket.consumed("rpm"), taken, self.bucket)

    def test_D6_limits_reach_all_shards(self):
        self.divided_by_weir()
        self.peer.set_limits(self.level, MORE)
        self.assert_quota("rpm", MORE, "after zae-limiter has set it")
        self.take(self.process, rpm=1)
        self.assert_quota("rpm", MORE, "after a request of weir, which knew other limits")
        self.assert_left(78)
        self.weir.set_limits(self.level, HUNDRED)
        self.assert_quota("rpm", HUNDRED, "after weir has set it")
        self.assert_left(-22)
        self.weir.set_limits(self.level, MORE)
        self.assert_quota("rpm", MORE, "after weir has set it")
        self.assert_left(78)


class LiveDivisions(OnTable):
    def test_divided_under_load(self):
        callers = Callers(self, rpm=1)
        callers.begin(self.peer, limit("rpm", 400, 200, 1))
        divider = self.new_peer()
        callers.start(self.new_peer(), self.new_weir_process(), self.new_weir_process())
        time.sleep(1)
        self.divided_by_weir(2)
        time.sleep(1)
        callers.grant(200)
        divider("divide", self.entity, self.resource, 2)
        time.sleep(1)
        self.divided_by_weir(8)
        time.sleep(1)
        callers.stop()
        callers.check("rpm")
        self.assert_balances_agree("rpm")

    def divided_by_weir(self, shards):
        def divided():
            found = self.bucket.shards()
            for shard in found if len(found) < shards else ():
                self.bucket.set(shard, b_wcu_tk=HOT)
            return len(found) >= shards
        engine.wait_until(divided, f"weir has divided the bucket into {shards}", WAIT_SECONDS)


if __name__ == "__main__":
    on_table.main(__doc__)
