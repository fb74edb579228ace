#!/usr/bin/env python3
"""Sixty-four claimers for five slots, round after round: five hold one, and none is lost.

usage: contention_test.py SLOTS_DRIVER WEIR [UNITTEST_ARGUMENT...]
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import engine  # noqa: E402

ROUNDS = 100
CLAIMERS = 64
SLOTS = 5


class Claimers:
    """Processes that claim together."""

    def __init__(self, url, processes, environment=None):
        self.processes = [
            engine.start([DRIVER, url, "emr", "acme", str(SLOTS), str(CLAIMERS // processes)],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
            for _ in range(processes)]

    def tell(self, command):
        """To all at once; what each of them answers."""
        for process in self.processes:
            process.stdin.write(command + "\n")
            process.stdin.flush()
        words = [process.stdout.readline().split() for process in self.processes]
        return [int(word[1]) for word in words]

    def close(self):
        for process in self.processes:
            process.stdin.close()
            process.wait()
            process.stdout.close()


class Contention(unittest.TestCase):
    def rounds(self, url, processes, environment=None):
        claimers = Claimers(url, processes, environment)
        self.addCleanup(claimers.close)
        shares = set()
        for number in range(ROUNDS):
            held = claimers.tell("claim")
            self.assertEqual(sum(held), SLOTS, f"round {number}: {held}")
            shares.add(tuple(held))
            self.assertEqual(sum(claimers.tell("release")), SLOTS, f"round {number}")
        # None is lost: one claimer after the other gets them all.
        for taken in range(1, SLOTS + 1):
            self.assertEqual(self.claim_one(url, environment), 0, f"slot {taken}")
        self.assertEqual(self.claim_one(url, environment), 3, "one more than there are")
        return shares

    def claim_one(self, url, environment):
        return subprocess.run(
            [WEIR, "--store", url, "reserve", "emr", "acme", "--limit", str(SLOTS)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment,
            check=False).returncode

    def in_a_file(self, processes):
        with tempfile.TemporaryDirectory() as folder:
            return self.rounds(f"sqlite:{folder}/weir.db", processes)

    def test_threads_on_a_file(self):
        self.in_a_file(1)

    def test_processes_on_a_file(self):
        self.assertGreater(len(self.in_a_file(8)), 1, "always the same processes won")

    def test_processes_on_tables(self):
        with engine.Dynoxide() as dynoxide:
            environment = dynoxide.environment()
            url = "rate-limiter-py://contention"
            subprocess.run([WEIR, "--store", url, "table", "create"], env=environment, check=True,
                           stdout=subprocess.DEVNULL)
            self.assertGreater(len(self.rounds(url, 8, environment)), 1,
                               "always the same processes won")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    DRIVER, WEIR = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
