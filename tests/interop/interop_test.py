#!/usr/bin/env python3
"""Weir and zae-limiter 0.17.0 on one table: each reads what the other wrote.

usage: interop_test.py WEIR WEIR_PROCESS [UNITTEST_ARGUMENT...]
"""

import sys

sys.dont_write_bytecode = True  # the sources stay as they are
import on_table  # noqa: E402
from on_table import Callers, OnTable  # noqa: E402
from sides import StoredBucket, all_items, daily, limit  # noqa: E402

REFUSED = 3
BUSY = limit("rpm", 100, 50, 1)


def as_weir_says(limit):
    return {"name": limit["name"], "capacity": limit["capacity"],
            "refill_amount": limit["refill_amount"],
            "refill_period_ms": limit["refill_period_seconds"] * 1000}


class PeerAlone(OnTable):
    """The peer against the engine: the basis of the other tests."""

    def test_its_own_workers_keep_the_bound(self):
        callers = Callers(self, threads=4, rpm=1)
        callers.begin(self.peer, BUSY)
        callers.run_for(2, self.new_peer(), sides=["zae-limiter"])

    def test_it_reads_what_it_wrote(self):
        self.peer.set_limits("system", daily("rpm", 1))
        self.peer.set_limits("resource:llm", daily("rpm", 2))
        self.peer.set_limits("entity:child", daily("rpm", 3))
        self.peer.set_limits("entity:child:llm", daily("rpm", 4), daily("tpm", 5))
        self.peer("entity", "parent")
        self.peer("entity", "child", "parent")
        self.peer.take("child", "llm", rpm=2)
        read = self.peer("read", "child", "llm")
        self.assertEqual(read["limits"]["entity:child:llm"], [daily("rpm", 4), daily("tpm", 5)])
        self.assertEqual([limits[0]["capacity"] for limits in read["limits"].values()],
                         [1, 2, 3, 4])
        self.assertEqual(StoredBucket(self.running, self.table, "child", "llm").consumed("rpm"), 2)
        self.assertEqual(read["entity"]["parent_id"], "parent")
        self.assertIn("entity_created", [event["action"] for event in read["audit"]])
        self.assertEqual(self.peer("read", "parent", "llm")["children"], ["child"])
        self.assertFalse(self.peer.take("child", "llm", rpm=3))


class Both:
    """These hold on a table of either side."""

    def consumed(self, entity, resource):
        return StoredBucket(self.running, self.table, entity, resource).consumed("rpm")

    def test_weir_reads_limits_of_the_peer(self):
        for tokens, level, words in ((1, "system", ["system"]),
                                     (2, "resource:r1", ["resource", "r1"]),
                                     (3, "entity:e1", ["entity", "e1"]),
                                     (4, "entity:e1:r1", ["entity", "e1", "-r", "r1"])):
            limits = [daily("rpm", tokens), daily("tpm", tokens * 10)]
            self.peer.set_limits(level, *limits)
            self.assertCountEqual(self.weir.limits(*words), map(as_weir_says, limits), level)

    def test_the_peer_reads_limits_of_weir(self):
        for tokens, level, words in ((1, "system", ["system"]),
                                     (2, "resource:r2", ["resource", "r2"]),
                                     (3, "entity:e2", ["entity", "e2"]),
                                     (4, "entity:e2:r2", ["entity", "e2", "-r", "r2"])):
            self.weir(words[0], "set-limits", *words[1:],
                      "-l", f"rpm:{tokens}/day", "-l", f"tpm:{tokens * 10}/day:{tokens * 20}")
            tpm = daily("tpm", tokens * 10) | {"capacity": tokens * 20}
            self.assertEqual(self.peer("read", "e2", "r2")["limits"][level],
                             [daily("rpm", tokens), tpm])

    def test_weir_reads_entities_of_the_peer(self):
        self.peer("entity", "org3")
        self.peer("entity", "child3", "org3")
        shown = self.weir("entity", "show", "child3")
        self.assertEqual((shown["parent"], shown["cascade"]), ("org3", True))
        children = self.weir("entity", "children", "org3")["children"]
        self.assertEqual([child["entity"] for child in children], ["child3"])

    def test_the_peer_reads_entities_of_weir(self):
        self.weir("entity", "create", "org4", "--name", "The Org", "--metadata", "tier=gold")
        self.weir("entity", "create", "child4", "--parent", "org4", "--cascade")
        read = self.peer("read", "org4", "r")
        self.assertEqual((read["entity"]["name"], read["entity"]["metadata"], read["children"]),
                         ("The Org", {"tier": "gold"}, ["child4"]))
        self.assertIn("entity_created", [event["action"] for event in read["audit"]])
        child = self.peer("read", "child4", "r")["entity"]
        self.assertEqual((child["parent_id"], child["cascade"]), ("org4", True))

    def test_a_bucket_the_peer_made_is_spent_by_both(self):
        self.peer.set_limits("resource:r5", daily("rpm", 10))
        self.assertTrue(self.peer.take("e5", "r5", rpm=6))
        self.spend_what_is_left("e5", "r5", taken=6)

    def test_a_bucket_weir_made_is_spent_by_both(self):
        self.weir("resource", "set-limits", "r6", "-l", "rpm:10/day")
        self.assertTrue(self.weir("try", "e6", "r6", "rpm=6")["admitted"])
        self.spend_what_is_left("e6", "r6", taken=6)

    def spend_what_is_left(self, entity, resource, taken):
        self.assertEqual(self.weir.consumed(entity, resource), {"rpm": taken})
        self.assertEqual(self.consumed(entity, resource), taken)
        self.assertFalse(self.peer.take(entity, resource, rpm=5))
        self.assertEqual(self.weir.run("try", entity, resource, "rpm=5").returncode, REFUSED)
        self.assertTrue(self.peer.take(entity, resource, rpm=2))
        self.assertTrue(self.weir("try", entity, resource, "rpm=2")["admitted"])
        self.assertFalse(self.peer.take(entity, resource, rpm=1))
        self.assertEqual(self.weir.run("try", entity, resource, "rpm=1").returncode, REFUSED)
        self.assertEqual(self.weir.consumed(entity, resource), {"rpm": 10})
        self.assertEqual(self.consumed(entity, resource), 10)

    def test_parents_are_charged_by_both(self):
        self.peer.set_limits("resource:r7", daily("rpm", 10))
        self.peer("entity", "org7")
        self.weir("entity", "create", "child7", "--parent", "org7", "--cascade")
        self.assertTrue(self.peer.take("child7", "r7", rpm=2))
        self.assertTrue(self.weir("try", "child7", "r7", "rpm=3")["admitted"])
        for entity in ("child7", "org7"):
            self.assertEqual(self.consumed(entity, "r7"), 5, entity)
            self.assertEqual(self.weir.consumed(entity, "r7"), {"rpm": 5}, entity)


class TableOfThePeer(Both, OnTable):
    def test_one_bucket_keeps_its_bound_under_both(self):
        callers = Callers(self, threads=4, rpm=1)
        callers.begin(self.peer, BUSY)
        callers.run_for(4, self.new_peer(), self.new_weir_process())
        self.assert_balances_agree("rpm")

    def test_what_weir_does_not_implement_it_names_and_leaves_alone(self):
        hourly = daily("rpm", 100) | {"refill_period_seconds": 3600}
        quota = daily("rpm", 100) | {"refill_amount": 0, "refill_period_seconds": 1}
        features = {
            "schedule": hourly | {"schedule": [{"cron": "* 9-17 * * *", "scale": 0.5}]},
            "reset|quota": quota | {"reset_schedule": [{"cron": "0 0 * * *"}]},
            "session": quota | {"reset_after_seconds": 18_000},
            "soft": hourly | {"soft": True}}
        for number, (named, limit) in enumerate(features.items()):
            entity = f"f{number}"
            self.peer.set_limits(f"entity:{entity}:r8", limit)
            self.assertTrue(self.peer.take(entity, "r8", rpm=1))
            before = all_items(self.running, self.table)
            for words in (["try", entity, "r8", "rpm=1"],
                          ["try", entity, "r8", "rpm=1", "--limits", "rpm:50"],
                          ["entity", "get-limits", entity, "-r", "r8"],
                          ["entity", "set-limits", entity, "-r", "r8", "-l", "rpm:50"]):
                with self.subTest(named, words=words):
                    done = self.weir.run(*words)
                    self.assertEqual(done.returncode, 1, done.stdout)
                    self.assertRegex(done.stderr, rf"\A[^\n]*{entity}[^\n]*({named})[^\n]*\n\Z")
                    self.assertEqual(all_items(self.running, self.table), before)
            self.assertTrue(self.peer.take(entity, "r8", rpm=1))


class TableOfWeir(Both, OnTable):
    @classmethod
    def make_table(cls):
        cls.weir("table", "create")
        cls.weir("namespace", "register", "default")


if __name__ == "__main__":
    on_table.main(__doc__)
