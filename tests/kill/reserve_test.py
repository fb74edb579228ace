#!/usr/bin/env python3
"""What `weir reserve` holds, and for how long, whatever becomes of it.

usage: reserve_test.py WEIR [UNITTEST_ARGUMENT...]
"""

import json
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
REFUSED = 3
TTL = 2.0
# Prints a line when it runs, and ends when its standard input does.
WAITS = ["sh", "-c", "echo $$; read line"]


def ends(process):
    """True if it ends within 10 s. Its parent, which is not this process, may reap it later."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            state = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
    return False


class Reserve(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.command = [WEIR, "--store", f"sqlite:{self.folder}/weir.db"]

    def run_weir(self, *words, **options):
        return subprocess.run([*self.command, *words], text=True, capture_output=True, check=False,
                              **options)

    def reserve(self, *words):
        return self.run_weir("reserve", "emr", "acme", "--limit", "1", *words)

    def hold(self, *words):
        """`weir reserve` with a command that runs, and that command's process."""
        holder = subprocess.Popen(
            [*self.command, "reserve", "emr", "acme", "--limit", "1", *words, "--", *WAITS],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, holder)
        line = holder.stdout.readline()
        if not line:
            self.fail(holder.stderr.read())
        return holder, int(line)

    def end(self, holder):
        holder.kill()
        holder.wait()
        for stream in (holder.stdin, holder.stdout, holder.stderr):
            stream.close()

    def slots(self):
        done = self.run_weir("--json", "reservation", "list", "emr", "acme")
        return json.loads(done.stdout)["slots"]

    def expiry(self):
        slot, = self.slots()
        told = time.strptime(slot["expires"][:19], "%Y-%m-%dT%H:%M:%S")
        return time.mktime(told) - time.timezone + float("0" + slot["expires"][19:-1])

    def test_the_slot_is_back_when_the_command_has_ended(self):
        holder, _ = self.hold()
        self.assertEqual(self.reserve("--", "true").returncode, REFUSED)
        holder.communicate("\n", timeout=30)
        self.assertEqual(holder.returncode, 0)
        self.assertEqual(self.slots(), [])
        self.assertEqual(self.reserve("--", "true").returncode, 0)

    def test_a_holder_that_is_killed_holds_until_its_time_is_over_and_not_longer(self):
        holder, child = self.hold("--ttl", f"{TTL}s")
        holder.kill()
        holder.wait()
        self.assertEqual(self.reserve("--", "true").returncode, REFUSED)
        expiry = self.expiry()
        done = self.reserve("--wait", "60s", "--", "date", "+%s.%N")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(float(done.stdout), expiry)
        self.assertLess(float(done.stdout), expiry + 10, "asked every two seconds")
        self.assertTrue(ends(child), "its command ends with it")

    def test_a_holder_that_lives_holds_longer_than_its_ttl(self):
        holder, _ = self.hold("--ttl", "1s")
        first = self.expiry()
        until = time.monotonic() + 30
        while self.expiry() <= first + 1.5:  # renewed, and renewed again
            self.assertLess(time.monotonic(), until)
        self.assertEqual(self.reserve("--", "true").returncode, REFUSED)
        holder.communicate("\n", timeout=30)

    def test_what_is_bound_outlives_its_holder_until_its_time_is_over(self):
        holder, _ = self.hold("--bind", "j-1", "--ttl", f"{TTL}s")
        holder.kill()
        holder.wait()
        self.assertEqual(self.reserve("--", "true").returncode, REFUSED)
        expiry = self.expiry()
        done = self.reserve("--wait", "60s", "--", "date", "+%s.%N")
        self.assertGreaterEqual(float(done.stdout), expiry)

    def test_what_is_bound_outlives_its_command_until_an_event(self):
        self.assertEqual(self.reserve("--bind", "j-1", "--", "true").returncode, 0)
        self.assertEqual([slot["bound_to"] for slot in self.slots()], ["j-1"])
        rules = self.folder / "rules.yaml"
        rules.write_text("rules:\n  - source: aws.emr\n    id: detail.clusterId\n")
        done = self.run_weir(
            "reservation", "events", "--rules", str(rules),
            input=json.dumps({"source": "aws.emr", "detail": {"clusterId": "j-1"}}) + "\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.slots(), [])

    def weir_in_script(self):
        return f"'{WEIR}' --store sqlite:{self.folder}/weir.db"

    def test_r2_a_command_outlives_the_thing_that_it_bound_and_waits_for(self):
        """Its renewals go on for longer than the thing lives."""
        rules = self.folder / "rules.yaml"
        rules.write_text("rules:\n  - source: aws.emr\n    id: detail.clusterId\n")
        event = json.dumps({"source": "aws.emr", "detail": {"clusterId": "j-3"}})
        script = (f"{self.weir_in_script()} reservation bind $WEIR_RESOURCE $WEIR_ACCOUNT "
                  "$WEIR_RESERVATION_ID j-3 && "
                  f"echo '{event}' | {self.weir_in_script()} reservation events --rules {rules} "
                  "&& sleep 2 && exit 5")
        done = self.reserve("--ttl", "1s", "--", "sh", "-c", script)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("1 slots released", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_r12_a_signal_goes_on_while_a_renewal_waits_for_the_store(self):
        script = "trap 'echo caught; exit 42' TERM; echo $$; while :; do read line; done"
        holder = subprocess.Popen(
            [*self.command, "reserve", "emr", "acme", "--limit", "1", "--ttl", "6s", "--",
             "sh", "-c", script],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, holder)
        holder.stdout.readline()
        file = sqlite3.connect(f"{self.folder}/weir.db-reservations", isolation_level=None)
        self.addCleanup(file.close)
        file.execute("BEGIN EXCLUSIVE")
        time.sleep(2.3)  # the renewal begins after 2 s
        sent = time.monotonic()
        holder.send_signal(signal.SIGTERM)
        self.assertEqual(holder.stdout.readline(), "caught\n")
        self.assertLess(time.monotonic() - sent, 1)
        file.execute("ROLLBACK")
        self.assertEqual(holder.wait(timeout=30), 42)
        self.assertEqual(self.slots(), [])

    def test_a_command_can_bind_its_own_slot(self):
        script = (f"'{WEIR}' --store sqlite:{self.folder}/weir.db reservation bind "
                  "$WEIR_RESOURCE $WEIR_ACCOUNT $WEIR_RESERVATION_ID j-2")
        done = self.reserve("--", "sh", "-c", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([slot["bound_to"] for slot in self.slots()], ["j-2"])

    def test_exit_codes_go_through(self):
        self.assertEqual(self.reserve("--", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(self.reserve("--", "sh", "-c", "kill -9 $$").returncode, 128 + 9)
        missing = self.reserve("--", "/no/such/program")
        self.assertEqual(missing.returncode, 127)
        self.assertIn("/no/such/program", missing.stderr)
        self.assertEqual(self.reserve("--", str(self.folder)).returncode, 126)
        self.assertEqual(self.slots(), [], "each gave its slot back")

    def test_signals_go_through(self):
        script = "trap 'exit 42' TERM; echo $$; while :; do read line; done"
        holder = subprocess.Popen(
            [*self.command, "reserve", "emr", "acme", "--limit", "1", "--", "sh", "-c", script],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, holder)
        holder.stdout.readline()
        holder.send_signal(signal.SIGTERM)
        self.assertEqual(holder.wait(timeout=30), 42)
        self.assertEqual(self.slots(), [])

    def test_arguments_of_the_command_are_its_own(self):
        done = self.reserve("--", "printf", "%s|", "--json", "-h", "--", "--store")
        self.assertEqual(done.stdout, "--json|-h|--|--store|")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    WEIR = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
