"""The runner of mutants itself: it refuses malformed mutants by name, and confuses no outcomes.

usage: mutants_test.py SOURCE_DIR
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(SOURCE / "tools"))

import mutant_patch  # noqa: E402
from registered_tests import as_expression  # noqa: E402

HEADER = "# mutant: A sum is right.\n# test: gtest sum_test Sum.IsRight\n"


def diff(old, new, file="weir/sum.c"):
    return (f"diff --git a/{file} b/{file}\n--- a/{file}\n+++ b/{file}\n@@ -2,3 +2,3 @@\n #include <stdio.h>\n"
            f" int main(void) {{\n-{old}\n+{new}\n")


LINE = "  return 1 + 1 == 2 ? 0 : 1; }"
WRONG = diff(LINE, "  return 1 + 1 == 3 ? 0 : 1; }")


class Parser(unittest.TestCase):
    def refused(self, text, *parts):
        with self.assertRaises(mutant_patch.Malformed) as raised:
            mutant_patch.parse("x", text)
        for part in ("x.patch", *parts):
            self.assertIn(part, str(raised.exception))

    def test_a_mutant_has_a_promise_a_test_and_files(self):
        mutant = mutant_patch.parse("x", HEADER + WRONG)
        self.assertEqual(mutant.promise, "A sum is right.")
        self.assertEqual(mutant.test, mutant_patch.Gtest("sum_test", "Sum.IsRight"))
        self.assertEqual(mutant.files, ("weir/sum.c",))
        self.assertFalse(mutant.hangs)
        self.assertTrue(mutant_patch.parse("x", HEADER + "# hang: yes\n" + WRONG).hangs)

    def test_a_simulation_has_seeds(self):
        header = "# mutant: A sum is right.\n# test: simulation tests/simulation/scenarios/calm.txt 3 9\n"
        test = mutant_patch.parse("x", header + WRONG).test
        self.assertEqual(test, mutant_patch.Simulation("tests/simulation/scenarios/calm.txt", 3, 9))
        self.refused(header.replace("3 9", "9 3") + WRONG, "no seeds")
        self.refused(header.replace("3 9", "3") + WRONG, "not understood", "<first seed> <last seed>")

    def test_what_is_missing_is_named(self):
        self.refused("# mutant: A sum is right.\n" + WRONG, "lacks '# test: ...'")
        self.refused("# mutant:\n# test: gtest a b\n" + WRONG, "lacks '# mutant: ...'")
        self.refused(HEADER, "no diff")
        self.refused(HEADER + "diff --git a/weir/sum.c b/weir/sum.c\n", "names no file")

    def test_what_is_not_understood_is_named_with_its_line(self):
        self.refused(HEADER + "# tests: gtest a b\n" + WRONG, "x.patch:3", "# tests: gtest a b")
        self.refused(HEADER + "# hang: no\n" + WRONG, "write '# hang: yes'")
        self.refused(HEADER + HEADER + WRONG, "x.patch:3", "a second '# mutant:'")
        self.refused("# mutant: A sum is right.\n# test: ctest all\n" + WRONG, "'# test: ctest all'", "gtest <target>")
        self.refused("# mutant: A sum is right.\n# test: gtest a -b\n" + WRONG, "excludes")

    def test_only_sources_of_the_program_are_changed(self):
        for file in ("tests/x.py", "weir/sum_test.cc", "weir/sim/sim_clock.cc", "weir/sum/testing/sum.h"):
            self.refused(HEADER + diff("a", "b", file), f"changes {file}")
        self.refused(HEADER + WRONG.replace("--- a/weir/sum.c", "--- /dev/null"), "adds or deletes")

    def test_patterns_are_those_of_gtest(self):
        self.assertTrue(as_expression("Sum.*Right").fullmatch("Sum.IsRight"))
        self.assertFalse(as_expression("Sum.Is").fullmatch("Sum.IsRight"))
        self.assertFalse(as_expression("Sum.IsRight").fullmatch("Sum+IsRight"))
        self.assertFalse(as_expression("Sum?IsRight[s]").fullmatch("Sum.IsRights"))


class Project:
    """A small source tree with one program, which its ctest knows as a gtest program and as a simulation."""

    def __init__(self, folder):
        self.root = pathlib.Path(folder)
        self.write("CMakePresets.json", '{"version": 6, "configurePresets": [{"name": "test", "generator": "Ninja", '
                                        '"binaryDir": "${sourceDir}/build/${presetName}"}]}')
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(sums LANGUAGES C)\n"
                                     "enable_testing()\nadd_executable(sum_test weir/sum.c)\n"
                                     "set_property(DIRECTORY PROPERTY TEST_INCLUDE_FILES "
                                     "${PROJECT_SOURCE_DIR}/discovered.cmake)\n"
                                     "add_test(NAME simulation.calm COMMAND sum_test "
                                     "${PROJECT_SOURCE_DIR}/tests/simulation/scenarios/calm.txt 1 2)\n")
        # As gtest_discover_tests does.
        self.write("discovered.cmake", "set(program ${CMAKE_CURRENT_LIST_DIR}/build/test/sum_test)\n"
                                       "if(EXISTS ${program})\n"
                                       "  add_test(Sum.IsRight ${program} --gtest_filter=Sum.IsRight)\n"
                                       "else()\n  add_test(sum_test_NOT_BUILT sum_test_NOT_BUILT)\nendif()\n")
        self.source = f"/* Sums. */\n#include <stdio.h>\nint main(void) {{\n{LINE}\n"
        self.write("weir/sum.c", self.source)
        self.write("tests/simulation/scenarios/calm.txt", "")
        self.write(".gitignore", "/build/\n")
        self.git("init", "--quiet")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *arguments):
        return subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, text=True, check=True).stdout

    def mutant(self, name, text):
        self.write(f"tests/mutants/{name}.patch", text)

    def start(self, *arguments, limit=60):
        program = f"import mutants, sys; mutants.SHORTEST_LIMIT = mutants.SHORTEST_HANG = {limit}; sys.exit(mutants.main())"
        return subprocess.Popen([sys.executable, "-c", program, *arguments], cwd=self.root, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=os.environ | {"PYTHONPATH": str(SOURCE / "tools")})

    def run(self, *arguments, limit=60):
        with self.start(*arguments, limit=limit) as process:
            output, errors = process.communicate()
            return process.returncode, output + errors

    def check(self):
        return self.run("--check", str(self.root / "build/mutants/tree/build/test"))


class Runner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.project = Project(folder.name)

    def test_each_outcome_has_its_name(self):
        mutants = {
            "wrong": (HEADER + WRONG, "caught"),
            "simulated": (HEADER.replace("gtest sum_test Sum.IsRight",
                                         "simulation tests/simulation/scenarios/calm.txt 1 2") + WRONG, "caught"),
            "harmless": (HEADER + diff(LINE, "  return 1 + 1 == 2 ? 0 : 2; }"), "SURVIVED"),
            "elsewhere": (HEADER + diff("  return 0; }", "  return 1; }"), "does not apply"),
            "broken": (HEADER + diff(LINE, "  return 1 +; }"), "does not build"),
            "endless": (HEADER + diff(LINE, "  for (;;) {} }"), "timed out"),
            "silent": (HEADER + "# hang: yes\n" + diff(LINE, "  for (;;) {} }"), "caught"),
            "nowhere": (HEADER.replace("Sum.IsRight", "Sum.IsWrong") + WRONG, "no test"),
        }
        for name, (text, _) in mutants.items():
            self.project.mutant(name, text)
        code, output = self.project.run(limit=1)
        self.assertEqual(code, 1, output)
        outcomes = {line[15:].split()[0]: line[:15].strip() for line in output.splitlines() if line.endswith(" s")}
        self.assertEqual(outcomes, {name: outcome for name, (_, outcome) in mutants.items()}, output)
        self.assertIn("3 of 8 were caught", output)
        self.assertIn("gtest would run none", output)
        self.assertEqual(self.project.run("wrong", "silent", limit=1)[0], 0)
        code, output = self.project.check()
        self.assertEqual(code, 1)
        self.assertIn("elsewhere.patch: does not apply", output)
        self.assertIn("nowhere.patch: no test of sum_test is called 'Sum.IsWrong'", output)
        self.assertEqual(len(output.splitlines()), 2, output)

    def test_a_test_that_fails_without_the_bug_catches_nothing(self):
        self.project.write("weir/sum.c", self.project.source.replace("== 2", "== 4"))
        self.project.mutant("wrong", HEADER + diff(LINE.replace("== 2", "== 4"), "  return 1; }"))
        code, output = self.project.run()
        self.assertEqual(code, 1)
        self.assertIn("no test         wrong", output)
        self.assertIn("fails without the bug", output)

    def test_the_source_tree_is_only_read(self):
        self.project.mutant("wrong", HEADER + WRONG)
        before = self.project.git("status", "--porcelain", "--ignored=no")
        self.assertEqual(self.project.run()[0], 0)
        self.assertEqual(self.project.git("status", "--porcelain", "--ignored=no"), before)
        self.assertEqual((self.project.root / "weir/sum.c").read_text(), self.project.source)

    def test_what_the_source_tree_holds_now_is_what_is_tested(self):
        self.project.mutant("wrong", HEADER + WRONG)
        self.project.write("weir/gone.c", "")
        self.assertEqual(self.project.run()[0], 0)
        (self.project.root / "weir/gone.c").unlink()
        self.project.write("weir/sum.c", "// not committed\n" + self.project.source)
        self.assertEqual(self.project.run()[0], 0)
        copy = self.project.root / "build/mutants/tree/weir"
        self.assertEqual([path.name for path in copy.iterdir()], ["sum.c"])
        self.assertIn("not committed", (copy / "sum.c").read_text())

    def test_an_interrupted_run_leaves_no_process_and_no_bug(self):
        hang = '  FILE* f = fopen("runs", "w"); fputs("1", f); fclose(f); for (;;) {} }'
        self.project.mutant("endless", HEADER + diff(LINE, hang))
        runs = self.project.root / "build/mutants/tree/runs"
        with self.project.start() as process:
            while not runs.exists() or not runs.read_text():
                self.assertIsNone(process.poll(), "the runner ended by itself")
                time.sleep(0)
            code, output = self.project.run()
            self.assertEqual(code, 2)
            self.assertIn("another run uses build/mutants", output)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate()
            self.assertEqual(process.returncode, 130)
        self.assertIn("the source tree is as it was", errors)
        self.assertEqual((self.project.root / "build/mutants/tree/weir/sum.c").read_text(), self.project.source)
        alive = subprocess.run(["pgrep", "-f", str(self.project.root / "build/mutants/tree/build")],
                               capture_output=True, text=True, check=False)
        self.assertEqual(alive.stdout, "")

    def test_bad_input_is_refused_before_anything_is_built(self):
        self.project.mutant("wrong", HEADER + WRONG)
        code, output = self.project.run("wrnog")
        self.assertEqual(code, 2)
        self.assertIn("no mutant is called 'wrnog' in tests/mutants; perhaps wrong", output)
        self.project.mutant("half", "# mutant: A sum is right.\n" + WRONG)
        self.project.write("tests/mutants/note.txt", "")
        code, output = self.project.run()
        self.assertEqual(code, 2)
        self.assertIn("tests/mutants/half.patch: the header lacks '# test: ...'", output)
        self.assertIn("tests/mutants/note.txt: not a mutant", output)
        self.assertFalse((self.project.root / "build/mutants/tree").exists())


if __name__ == "__main__":
    unittest.main()
