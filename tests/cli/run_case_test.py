#!/usr/bin/env python3
"""The runner of cases itself: what is wrong must fail, and say where.

usage: run_case_test.py
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

RUNNER = pathlib.Path(__file__).with_name("run_case.py")


class RunnerTest(unittest.TestCase):
    def run_case(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.case"
            path.write_text(text)
            # The program under test is one whose answers are known.
            return subprocess.run([sys.executable, RUNNER, "/bin/echo", path], text=True,
                                  capture_output=True, check=False)

    def passes(self, text):
        done = self.run_case(text)
        self.assertEqual(done.returncode, 0, done.stderr)

    def fails(self, text, message):
        done = self.run_case(text)
        self.assertEqual(done.returncode, 1, text)
        self.assertIn(message, done.stderr)

    def test_lines_match_exactly(self):
        self.passes("$ weir a b\n> a b\n")
        self.fails("$ weir a b\n> a c\n", "x.case:2: stdout differs")
        self.fails("$ weir a b\n> a\n", "stdout differs")
        self.fails("$ weir a.b\n> a+b\n", "stdout differs")

    def test_output_that_is_not_expected_fails(self):
        self.fails("$ weir a\n", "stdout differs")
        self.fails("$ weir a\n> a\n> b\n", "stdout differs")
        self.fails("$ ls nowhere\n? 2\n", "stderr differs")

    def test_patterns(self):
        self.passes("$ weir took 12 ms\n> took {*} ms\n")
        self.fails("$ weir took 12 s\n> took {*} ms\n", "stdout differs")
        self.passes("file f\na\nb\nc\nend\n$ cat f\n> {...}\n> c\n")
        self.fails("file f\na\nb\nc\nend\n$ cat f\n> {...}\n> b\n", "stdout differs")

    def test_exit_codes(self):
        self.passes("$ false\n? 1\n")
        self.fails("$ false\n", "exit code 1, expected 0")
        self.fails("$ true\n? 1\n", "exit code 0, expected 1")

    def test_json(self):
        self.passes('$ weir {\\"a\\":[1,2.5]}\njson {"a": [1, "{*}"]}\n')
        self.fails('$ weir {\\"a\\":1}\njson {"a": 1.0}\n', "JSON differs")
        self.fails('$ weir {\\"a\\":1,\\"b\\":2}\njson {"b": 2, "a": 1}\n', "JSON differs")
        self.fails("$ weir x\njson {}\n", "stdout is not JSON")

    def test_files(self):
        self.passes("file f\nend\nexists f\nmissing g\n")
        self.fails("exists f\n", "f is missing")
        self.fails("file f\nend\nmissing f\n", "f exists")

    def test_what_is_not_understood_fails(self):
        self.fails("run weir\n", "not understood")


if __name__ == "__main__":
    unittest.main()
