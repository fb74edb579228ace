#!/usr/bin/env python3
"""The recomputation itself, on logs written by hand.

usage: recompute_test.py
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

RECOMPUTE = pathlib.Path(__file__).with_name("recompute.py")
HEADER = "t_ms,seq,entity,resource,op,outcome,limit,amount,balance\n"
START = 1_700_158_546_681


class RecomputeTest(unittest.TestCase):
    def recompute(self, limits, lines):
        """Lines: `after_ms,seq,entity,op,outcome,limit,amount,balance`."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "limits.yaml").write_text("namespace: default\n" + limits)
            rows = []
            for line in lines:
                after, seq, entity, rest = line.split(",", 3)
                rows.append(f"{START + int(after)},{seq},{entity},llm,{rest}\n")
            (folder / "log.csv").write_text(HEADER + "".join(rows))
            return subprocess.run([sys.executable, RECOMPUTE, folder / "limits.yaml",
                                   folder / "log.csv"], text=True, capture_output=True, check=False)

    def agrees(self, limits, *lines):
        done = self.recompute(limits, lines)
        self.assertEqual(done.returncode, 0, done.stderr)

    def differs(self, message, limits, *lines):
        done = self.recompute(limits, lines)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(message, done.stderr)

    def test_short_and_long_limits_are_the_same(self):
        for limit in ("10", "10/min", "'10/1min:10'", "{capacity: 10}",
                      "{capacity: 4, burst: 10, refill_amount: 10, refill_period: 60.0}"):
            self.agrees("resources: {llm: {limits: {rpm: %s}}}\n" % limit,
                        "0,1,a,take,admitted,rpm,4.000,6.000",
                        "3000,2,a,take,admitted,rpm,1.000,5.500")

    def test_the_nearest_level_holds_as_a_whole(self):
        limits = ("system: {limits: {rpm: 1, tpm: 9}}\n"
                  "resources: {other: {limits: {rpm: 8}}}\n"
                  "entities:\n"
                  "  a: {resources: {_default_: {limits: {rpm: 5}}}}\n"
                  "  b: {resources: {_default_: {limits: {rpm: 5}}, llm: {limits: {rpm: 6}}}}\n")
        self.agrees(limits, "0,1,a,take,admitted,rpm,1.000,4.000")
        self.agrees(limits, "0,1,b,take,admitted,rpm,1.000,5.000")
        self.agrees(limits, "0,1,c,take,admitted,rpm,1.000,0.000",
                    "0,1,c,take,admitted,tpm,0.000,9.000")
        self.differs("buckets and limits", limits, "0,1,c,take,admitted,rpm,1.000,0.000")

    def test_parents_are_charged_while_cascade_says_so(self):
        limits = ("resources: {llm: {limits: {rpm: 9}}}\n"
                  "entities:\n"
                  "  a: {parent: b, cascade: true}\n"
                  "  b: {parent: c, resources: {llm: {limits: {rpm: 2}}}}\n")
        self.agrees(limits, "0,1,a,take,admitted,rpm,2.000,7.000",
                    "0,1,b,take,admitted,rpm,2.000,0.000",
                    "0,2,a,take,refused,rpm,1.000,7.000", "0,2,b,take,refused,rpm,1.000,0.000",
                    "0,3,c,take,admitted,rpm,1.000,8.000")
        self.differs("buckets and limits", limits, "0,1,a,take,admitted,rpm,2.000,7.000")
        self.differs("amount of rpm", limits, "0,1,a,take,admitted,rpm,2.000,7.000",
                     "0,1,b,take,admitted,rpm,1.000,1.000")

    def test_refill_is_exact_and_stops_at_the_capacity(self):
        limits = "resources: {llm: {limits: {rpm: '7/3sec:5'}}}\n"
        self.agrees(limits, "0,1,a,take,admitted,rpm,5.000,0.000",
                    "1,2,a,take,refused,rpm,1.000,0.002", "3,3,a,take,refused,rpm,1.000,0.007",
                    "428,4,a,take,refused,rpm,1.000,0.998", "429,5,a,take,admitted,rpm,1.000,0.001",
                    "90000,6,a,take,admitted,rpm,1.000,4.000")
        self.differs("log.csv:3: balance", limits, "0,1,a,take,admitted,rpm,5.000,0.000",
                     "1,2,a,take,refused,rpm,1.000,0.003")

    def test_an_adjust_may_leave_debt_and_gives_back_up_to_the_capacity(self):
        limits = "resources: {llm: {limits: {tpm: 10/min}}}\n"
        self.agrees(limits, "0,1,a,take,admitted,tpm,4.000,6.000",
                    "1,1,a,adjust,done,tpm,8.000,-2.000", "2,2,a,take,refused,tpm,1.000,-2.000",
                    "3,3,a,adjust,done,tpm,-20.000,10.000")
        # Rounded down, not towards 0: -2 and a sixth of a thousandth back.
        self.differs("balance", limits, "0,1,a,take,admitted,tpm,4.000,6.000",
                     "1,1,a,adjust,done,tpm,8.000,-1.999")

    def test_over_a_capacity_is_impossible(self):
        limits = ("resources: {llm: {limits: {tpm: 9}}}\n"
                  "entities: {a: {parent: b, cascade: true},"
                  " b: {resources: {llm: {limits: {tpm: 5}}}}}\n")
        self.agrees(limits, "0,1,a,take,impossible,tpm,6.000,9.000",
                    "0,1,b,take,impossible,tpm,6.000,5.000")
        self.differs("outcome", limits, "0,1,a,take,refused,tpm,6.000,9.000",
                     "0,1,b,take,refused,tpm,6.000,5.000")

    def test_what_was_refused_must_have_been_short(self):
        self.differs("outcome: computed {'admitted'}", "system: {limits: {rpm: 3}}\n",
                     "0,1,a,take,refused,rpm,3.000,3.000")

    def test_operations_come_in_order(self):
        self.differs("out of order", "system: {limits: {rpm: 3}}\n",
                     "5,2,a,take,admitted,rpm,1.000,2.000", "5,1,b,take,admitted,rpm,1.000,2.000")

    def test_an_empty_log_proves_nothing(self):
        self.assertEqual(self.recompute("system: {limits: {rpm: 3}}\n", []).returncode, 1)


if __name__ == "__main__":
    unittest.main()
