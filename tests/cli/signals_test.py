#!/usr/bin/env python3
"""`weir kinesis put|cat` at a service that is away: its messages, and the effect of signals.

usage: signals_test.py WEIR
"""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the sources stay as they are
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import Failed, expect  # noqa: E402

LINES = 'first\nsecond\n'
LOGGED = re.compile(r"\d{4}-\d\d-\d\dT\S+ \w+ [a-z_.]+ ")


class Put:
    """A put of two lines whose input stays open."""

    def __init__(self, weir, folder, endpoint):
        self.kept = folder / "failed.txt"
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "AWS_ACCESS_KEY_ID": "x",
                       "AWS_SECRET_ACCESS_KEY": "y"}
        self.process = subprocess.Popen(
            [weir, "kinesis", "put", "--stream", "s", "--region", "eu-west-1", "--endpoint",
             endpoint, "--failed-to", str(self.kept)],
            text=True, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.process.stdin.write(LINES)
        self.process.stdin.flush()

    def line(self):
        """The next message; log events are passed over."""
        while LOGGED.match(line := self.process.stderr.readline()):
            pass
        return line

    def goes_on_for(self, seconds):
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return True
        return False

    def end(self, within=60):
        out, err = self.process.communicate(timeout=within)
        return self.process.returncode, out, err


def a_silent_service_is_reported_while_the_input_waits(weir, folder):
    """Q4. Fails if: the service is looked at only when a line comes."""
    put = Put(weir, folder, "http://127.0.0.1:1")
    said = put.line()
    expect("cannot reach http://127.0.0.1:1, retrying" in said, said)
    code, out, err = put.end()
    expect(code == 1, f"{code} {err}")
    expect(out.startswith("records   2: stored 0, failed 2"), out)
    # A request may be in flight when the run gives up.
    expect(re.search("none of 2 lines is (stored|known to be stored, and [12] may be);", err), err)
    expect(put.kept.read_text() == LINES, put.kept.read_text())


def what_was_delivered_is_not_called_lost(weir, folder):
    """Q3. Fails if: a request without an answer counts as one that was not sent."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        put = Put(weir, folder, f"http://127.0.0.1:{server.getsockname()[1]}")
        put.process.stdin.close()
        put.process.stdin = None
        code, out, err = put.end()
    expect(code == 1, f"{code} {err}")
    expect(out.startswith("records   2: "), out)
    expect("none of 2 lines is known to be stored" in err, err)


def a_repeated_signal_is_one_and_a_second_one_keeps_the_lines(weir, folder):
    """Q5. Fails if: the second of two signals ends the process without report or lines."""
    put = Put(weir, folder, "http://127.0.0.1:1")
    expect("cannot reach" in put.line(), "no report")
    put.process.send_signal(signal.SIGTERM)
    said = put.line()
    expect("interrupted: the lines that were read have 10 s" in said, said)
    put.process.send_signal(signal.SIGTERM)
    expect(put.goes_on_for(1.2), "the repetition ended it")
    put.process.send_signal(signal.SIGTERM)
    code, out, err = put.end(within=6)
    expect(code == 128 + signal.SIGTERM, f"{code} {out} {err}")
    expect(out.startswith("records   2: stored 0, failed 2"), out)
    expect(put.kept.read_text() == LINES, put.kept.read_text())


def a_signal_ends_cat_at_a_service_that_hangs(weir, folder):
    """Fails if: cat waits for the answer to the request that is in flight."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "AWS_ACCESS_KEY_ID": "x",
                   "AWS_SECRET_ACCESS_KEY": "y"}
    with socket.create_server(("127.0.0.1", 0)) as server:
        cat = subprocess.Popen(
            [weir, "kinesis", "cat", "--stream", "s", "--region", "eu-west-1", "--follow",
             "--endpoint", f"http://127.0.0.1:{server.getsockname()[1]}"],
            text=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        connection, _ = server.accept()
        with connection:
            expect(connection.recv(1) == b"P", "no request")
            cat.send_signal(signal.SIGINT)
            begun = time.monotonic()
            out, err = cat.communicate(timeout=60)
            took = time.monotonic() - begun
    expect(cat.returncode == 128 + signal.SIGINT, f"{cat.returncode} {out} {err}")
    expect(took < 5, f"it took {took:.1f} s")


def main():
    signal.alarm(100)  # what never speaks is red
    for test in (a_silent_service_is_reported_while_the_input_waits,
                 what_was_delivered_is_not_called_lost,
                 a_repeated_signal_is_one_and_a_second_one_keeps_the_lines,
                 a_signal_ends_cat_at_a_service_that_hangs):
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(os.path.abspath(sys.argv[1]), pathlib.Path(folder))
            except Failed as failure:
                print(f"{test.__name__}: {failure}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
