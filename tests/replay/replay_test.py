#!/usr/bin/env python3
"""The recorded hour, decided by the program and recomputed by another one.

usage: replay_test.py WEIR TRACE LIMITS
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

RECOMPUTE = pathlib.Path(__file__).with_name("recompute.py")
WEIR, TRACE, LIMITS = (pathlib.Path(path) for path in sys.argv[1:4])


class ReplayTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def replay(self, store, *options, trace=TRACE):
        """Returns the text of the log and its path."""
        log = self.folder / "log.csv"
        done = subprocess.run([WEIR, "--store", store, "replay", trace, "--limits", LIMITS, "--log",
                               log, "--force", *options], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith("bound: held\n"), done.stdout)
        return log.read_text(), log

    def recompute(self, log, *options, trace=TRACE):
        return subprocess.run([sys.executable, RECOMPUTE, LIMITS, log, "--trace", trace, *options],
                              text=True, capture_output=True, check=False)

    def agrees(self, log, *options, trace=TRACE):
        done = self.recompute(log, *options, trace=trace)
        self.assertEqual(done.returncode, 0, done.stderr)

    def differs(self, text, message):
        log = self.folder / "forged.csv"
        log.write_text(text)
        done = self.recompute(log)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(message, done.stderr)

    def head(self, rows):
        """A trace of the first rows."""
        trace = self.folder / "head.csv"
        trace.write_text("".join(TRACE.read_text().splitlines(keepends=True)[:rows + 1]))
        return trace

    def test_both_stores_decide_as_recomputed(self):
        in_memory, log = self.replay("memory:")
        self.agrees(log)
        in_file, _ = self.replay(f"sqlite:{self.folder}/weir.db")
        self.assertEqual(in_memory, in_file)

    def test_what_is_taken_at_once(self):
        _, log = self.replay(f"sqlite:{self.folder}/weir.db", "--strategy", "actual")
        self.agrees(log, "--strategy", "actual")

    def test_other_tenants_and_a_low_estimate(self):
        # Much is adjusted upwards: debts.
        text, log = self.replay("memory:", "--tenants", "3", "--seed", "7", "--estimate", "0")
        self.assertIn(",-", text)
        self.agrees(log, "--estimate", "0")

    def test_a_store_that_answers_after_each_commit(self):
        trace = self.head(200)
        strict, log = self.replay(f"sqlite:{self.folder}/weir.db", "--durability", "strict",
                                  trace=trace)
        self.agrees(log, trace=trace)
        self.assertEqual(strict, self.replay("memory:", trace=trace)[0])

    def test_a_forged_log_is_found_out(self):
        text, _ = self.replay("memory:")
        lines = text.splitlines(keepends=True)
        refused = next(i for i, line in enumerate(lines) if ",refused," in line)
        adjusted = next(i for i, line in enumerate(lines) if ",adjust,done,tpm," in line)

        def forged(at, old, new):
            copy = list(lines)
            self.assertIn(old, copy[at])
            copy[at] = copy[at].replace(old, new)
            return "".join(copy)

        balance = lines[adjusted].rsplit(",", 1)[1]
        # The line of the limit on requests comes first.
        self.differs(forged(adjusted, balance, "0.001\n"), f"forged.csv:{adjusted}: balance")
        self.differs(forged(refused, ",refused,", ",admitted,"), "outcome")
        self.differs("".join(lines[:adjusted] + lines[adjusted + 1:]), "buckets and limits")
        row = lines[refused].split(",")[:2]
        without = [line for line in lines if line.split(",")[:2] != row]
        self.differs("".join(without), "rows asked")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
