#!/usr/bin/env python3
"""Runs one case of the command line: commands, and what they print and end with.

usage: run_case.py WEIR CASE

A case is a text file, run top to bottom in an empty folder that is also HOME, with XDG_STATE_HOME
at state/ in it and no WEIR_STORE. Lines:

    # ...               ignored, as are blank lines
    file NAME           write a file: the lines that follow, up to a line `end`
    < NAME              the next command reads this file as its standard input
    $ [VAR=x] COMMAND   run it (no shell; `weir` is the program under test), then expect:
    > LINE                  the next line of stdout; {*} stands for any text
    > {...}                 any number of lines
    json TEXT               stdout is this JSON; a string "{*}" stands for any value
    ! LINE                  the next line of stderr
    ? CODE                  the exit code (default 0)
    & COMMAND           start it and go on; its standard input stays open
    wait NAME           until that file has at least one whole line
    stop SIGNAL         send it to what was started, then expect as after $
    exists NAME         there is such a file
    missing NAME        there is none

What is not expected is an error: a command that prints a line must have it in its case.
"""

import difflib
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

EXPECTATIONS = (">", "json", "!", "?")


class Failed(Exception):
    pass


def pattern_of(lines):
    """The expected lines as one regular expression."""
    parts = []
    for line in lines:
        if line == "{...}":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(re.escape(part) for part in line.split("{*}")) + r"\n")
    return re.compile("".join(parts))


def expect_text(what, lines, actual):
    if pattern_of(lines).fullmatch(actual):
        return
    diff = difflib.unified_diff(lines, actual.splitlines(), "expected", "actual", lineterm="", n=99)
    raise Failed(f"{what} differs:\n" + "\n".join(diff))


def same_json(expected, actual):
    if expected == "{*}":
        return True
    if isinstance(expected, dict) and isinstance(actual, dict):
        return list(expected) == list(actual) and all(
            same_json(expected[key], actual[key]) for key in expected)
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(same_json, expected, actual))
    return type(expected) is type(actual) and expected == actual


def expect_json(text, actual):
    try:
        value = json.loads(actual)
    except ValueError as problem:
        raise Failed(f"stdout is not JSON ({problem}):\n{actual}") from None
    if not same_json(json.loads(text), value):
        raise Failed(f"JSON differs:\nexpected {text}\nactual   {actual}")


class Case:
    def __init__(self, weir, path):
        self.weir = weir
        self.lines = path.read_text().splitlines()
        self.at = 0
        self.background = None
        self.input = None

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            self.folder = pathlib.Path(folder)
            path = f"{os.path.dirname(self.weir)}:{os.environ['PATH']}"
            self.environment = {"PATH": path, "HOME": folder,
                                "XDG_STATE_HOME": f"{folder}/state", "LC_ALL": "C.UTF-8"}
            for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
                if name in os.environ:
                    self.environment[name] = os.environ[name]
            try:
                while self.at < len(self.lines):
                    self.step(self.next())
            finally:
                if self.background:
                    self.background.kill()
                    self.background.communicate()

    def next(self):
        self.at += 1
        return self.lines[self.at - 1]

    def step(self, line):
        word, _, rest = line.partition(" ")
        if word in ("", "#") or word.startswith("#"):
            return
        verbs = {"file": self.write, "$": self.command, "&": self.start, "wait": self.wait,
                 "stop": self.stop, "exists": self.exists, "missing": self.missing,
                 "<": self.read_from}
        if word not in verbs:
            raise Failed(f"not understood: {line}")
        verbs[word](rest)

    def write(self, name):
        body = []
        while (line := self.next()) != "end":
            body.append(line + "\n")
        (self.folder / name).write_text("".join(body))

    def read_from(self, name):
        self.input = self.folder / name

    def popen(self, text, source=subprocess.DEVNULL):
        words = shlex.split(text)
        environment = dict(self.environment)
        while re.match(r"[A-Z_]+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        if words[0] == "weir":
            words[0] = self.weir
        return subprocess.Popen(words, cwd=self.folder, env=environment, text=True, stdin=source, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def command(self, text):
        if self.input is None:
            process = self.popen(text)
        else:
            with self.input.open() as source:
                process = self.popen(text, source)
        self.input = None
        out, err = process.communicate(timeout=300)
        self.expect(process.returncode, out, err)

    def start(self, text):
        self.background = self.popen(text, subprocess.PIPE if self.input else subprocess.DEVNULL)
        if self.input is not None:
            self.background.stdin.write(self.input.read_text())
            self.background.stdin.flush()
            self.input = None

    def stop(self, name):
        self.background.send_signal(signal.Signals["SIG" + name])
        # The input stays open: a signal that another process passes on comes later than its end would.
        source, self.background.stdin = self.background.stdin, None
        out, err = self.background.communicate(timeout=300)
        if source is not None:
            source.close()
        code, self.background = self.background.returncode, None
        self.expect(code, out, err)

    def wait(self, name):
        # Between two looks the process that is waited for gets the processor.
        while not (self.folder / name).exists() or "\n" not in (self.folder / name).read_text():
            if self.background.poll() is not None:
                raise Failed(f"ended before {name} was there: {self.background.communicate()}")
            time.sleep(0)

    def exists(self, name):
        if not (self.folder / name).exists():
            raise Failed(f"{name} is missing")

    def missing(self, name):
        if (self.folder / name).exists():
            raise Failed(f"{name} exists")

    def expect(self, code, out, err):
        wanted = {">": [], "!": [], "?": ["0"], "json": []}
        while self.at < len(self.lines):
            word, _, rest = self.lines[self.at].partition(" ")
            if word not in EXPECTATIONS:
                break
            wanted[word].append(rest)
            self.at += 1
        if code != int(wanted["?"][-1]):
            raise Failed(f"exit code {code}, expected {wanted['?'][-1]}\n{out}{err}")
        expect_text("stderr", wanted["!"], err)
        if wanted["json"]:
            expect_json("\n".join(wanted["json"]), out)
        else:
            expect_text("stdout", wanted[">"], out)


def main():
    weir, path = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    case = Case(weir, path)
    try:
        case.run()
    except Failed as failure:
        print(f"{path}:{case.at}: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
