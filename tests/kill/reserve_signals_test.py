#!/usr/bin/env python3
"""Signals and terminals: what the command of `weir reserve` gets, each once.

usage: reserve_signals_test.py WEIR SLOW_FORK [UNITTEST_ARGUMENT...]
"""

import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
RECORDER = str(pathlib.Path(__file__).resolve().parent / "record_signals.py")
RECORDED = 7
PATIENCE = 20.0


class Terminal:
    """A session of its own on a terminal, and the output of its processes."""

    def __init__(self, command, **environment):
        self.leader, self.keys = pty.fork()
        if self.leader == 0:
            os.execvpe(command[0], command, {**os.environ, **environment})
        self.text = ""

    def press(self, keys):
        os.write(self.keys, keys.encode())

    def until(self, pattern):
        """Reads on until the pattern is there; leaves what follows it."""
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.text)):
            if not select.select([self.keys], [], [], max(0.0, end - time.monotonic()))[0]:
                raise AssertionError(f"no {pattern!r} in {self.text!r}")
            try:
                self.text += os.read(self.keys, 4096).decode()
            except OSError:  # the last process closed it
                raise AssertionError(f"no {pattern!r} in {self.text!r}") from None
        self.text = self.text[found.end():]
        return found.group(0)

    def hang_up(self):
        os.close(self.keys)
        self.keys = -1

    def code(self):
        """The exit code of the leader."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            ended, status = os.waitpid(self.leader, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        raise AssertionError(f"it has not ended in {PATIENCE} s")

    def close(self):
        if self.keys >= 0:
            os.close(self.keys)
        try:
            os.kill(self.leader, signal.SIGKILL)
            os.waitpid(self.leader, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


class Signals(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def reserve(self, *command, words=()):
        return [WEIR, "--store", f"sqlite:{self.folder}/weir.db", "reserve", "emr", "acme",
                "--slots", "1", *words, "--", *command]

    def record(self, *arguments):
        return self.reserve(sys.executable, RECORDER, *arguments)

    def start(self, command):
        """In a session without a terminal, as by a service manager or in CI."""
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def on_terminal(self, command, **environment):
        terminal = Terminal(command, **environment)
        self.addCleanup(terminal.close)
        return terminal

    def expect_record(self, process, record):
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((out, err, process.returncode), (record + "\n", "", RECORDED))

    def test_r5_a_signal_to_the_group_reaches_the_command_once(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            process = self.start(self.record())
            # The holder passes it on late, so that two of them would not become one.
            process.send_signal(signal.SIGSTOP)
            os.killpg(process.pid, number)
            time.sleep(0.2)
            process.send_signal(signal.SIGCONT)
            self.expect_record(process, number.name)

    def test_a_signal_to_the_holder_reaches_the_command_once(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            process = self.start(self.record())
            process.send_signal(number)
            self.expect_record(process, number.name)

    def test_r5_timeout_signals_the_command_once(self):
        """timeout(1) signals its child, and then the group of both."""
        process = self.start(["timeout", "--preserve-status", "2", *self.record()])
        self.expect_record(process, "SIGTERM")

    def test_a_signal_to_the_group_reaches_what_the_command_started(self):
        process = self.start(self.reserve("sh", "-c", f"'{sys.executable}' '{RECORDER}'; exit 9"))
        os.killpg(process.pid, signal.SIGTERM)
        self.assertEqual(process.stdout.readline(), "SIGTERM\n")

    def test_r4_a_hang_up_of_the_terminal_reaches_the_command(self):
        record = self.folder / "record"
        terminal = self.on_terminal(self.record(str(record)))
        terminal.until("ready\r\n")
        terminal.hang_up()
        self.assertEqual(terminal.code(), RECORDED)
        self.assertEqual(record.read_text(), "SIGHUP")

    def test_a_key_reaches_the_command_once(self):
        for key, name in (("\x03", "SIGINT"), ("\x1c", "SIGQUIT")):
            terminal = self.on_terminal(self.record())
            terminal.until("ready\r\n")
            terminal.press(key)
            terminal.until(name + "\r\n")
            self.assertEqual(terminal.code(), RECORDED)

    def test_r16_a_key_reaches_a_command_that_is_not_started_yet(self):
        terminal = self.on_terminal(self.reserve("sleep", "60"), LD_PRELOAD=SLOW_FORK)
        terminal.until("forks soon")
        terminal.press("\x03")
        self.assertEqual(terminal.code(), 128 + signal.SIGINT)

    def test_a_command_reads_from_the_terminal(self):
        terminal = self.on_terminal(self.reserve("sh", "-c", "read a; read b; echo =$a+$b; exit 5"))
        terminal.press("one\ntwo\n")
        terminal.until(r"=one\+two")
        self.assertEqual(terminal.code(), 5)

    def test_a_key_reaches_a_command_that_reads_from_the_terminal(self):
        script = "trap 'echo caught; exit 6' INT; read line; echo =$line; read line"
        terminal = self.on_terminal(self.reserve("sh", "-c", script))
        terminal.press("one\n")
        terminal.until("=one")
        terminal.press("\x03")
        terminal.until("caught")
        self.assertEqual(terminal.code(), 6)

    def shell(self):
        terminal = self.on_terminal(["bash", "--norc", "--noprofile", "-i"], PS1="next% ")
        terminal.until("next% ")
        return terminal

    def type(self, terminal, *command):
        terminal.press(" ".join(f"'{word}'" for word in command) + "\n")

    def test_a_shell_stops_and_continues_a_command_that_reads(self):
        shell = self.shell()
        self.type(shell, *self.reserve("sh", "-c", "echo be''gun; read a; echo =$a; exit 5"))
        shell.until("begun")
        shell.press("\x1a")
        shell.until("Stopped")
        shell.press("fg\n")
        shell.press("one\n")
        shell.until("=one")
        shell.press("echo code $?\n")
        shell.until("code 5")

    def test_a_shell_stops_and_continues_a_command_that_works(self):
        shell = self.shell()
        self.type(shell, *self.record())
        shell.until("ready\r\n")
        shell.press("\x1a")
        shell.until("Stopped")
        shell.press("bg\n")
        shell.until("next% ")
        shell.press("kill %1; wait %1; echo code $?\n")
        shell.until("SIGTERM\r\n")
        shell.until("code 7")

    def test_a_background_command_reads_when_it_comes_to_the_foreground(self):
        shell = self.shell()
        script = "read a; echo =$a; exit 5"
        shell.press(" ".join(f"'{word}'" for word in self.reserve("sh", "-c", script)) + " &\n")
        shell.press("wait %1\n")
        shell.until("Stopped")
        shell.press("fg\n")
        shell.press("one\n")
        shell.until("=one")

    def test_the_terminal_is_the_shells_again_afterwards(self):
        shell = self.on_terminal(["sh", "-c", '"$@"; read b; echo =$b', "sh",
                                  *self.reserve("sh", "-c", "read a; echo =$a")])
        shell.press("one\n")
        shell.until("=one")
        shell.press("two\n")
        shell.until("=two")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    WEIR, SLOW_FORK = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
