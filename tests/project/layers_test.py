"""The checks of the project find what is planted: a forbidden include, a cycle of modules.

usage: layers_test.py SOURCE_DIR
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop())
CHECK = SOURCE / "tools/check_layers.py"
CHECK_ALONE = SOURCE / "tools/check_alone.py"
DEPENDENCIES = "base ->  |  | what all want\nbucket -> base |  | arithmetic\nsim -> base |  | for tests\n" \
         "store -> bucket | sim | shared state\n"


def planted(files):
    """A small project with these files; returns what the check reports."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "dependencies.txt").write_text(DEPENDENCIES)
        rows = ""
        for line in DEPENDENCIES.splitlines():
            name, purpose = line.split(" ->")[0], line.split("| ")[-1]
            module = root / "weir" / name
            module.mkdir(parents=True)
            (module / "README.md").write_text(f"# {name}\n")
            rows += f"| `weir/{name}` | {purpose} |\n"
        (root / "README.md").write_text(rows)
        for name, text in files.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text)
        done = subprocess.run([sys.executable, CHECK, root / "dependencies.txt", root],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stderr


def compiled_alone(files):
    """The files of a small project, each compiled by itself; returns what the check reports."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "weir/base").mkdir(parents=True)
        for name, text in files.items():
            (root / name).write_text(text)
        commands = [{"file": str(root / name), "command": f"ccache g++ -I{root} -o a.o -c {root / name}"}
                    for name in files if name.endswith(".cc")]
        (root / "compile_commands.json").write_text(json.dumps(commands))
        done = subprocess.run([sys.executable, CHECK_ALONE, root, root],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stderr


class Alone(unittest.TestCase):
    HEADER = "#include <string>\nstd::string Name();\n"
    SOURCE = '#include "weir/base/a.h"\nstd::string Name() { return {}; }\n'

    def test_complete_files_pass(self):
        files = {"weir/base/a.h": self.HEADER, "weir/base/a.cc": self.SOURCE, "weir/base/b.h": self.HEADER}
        self.assertEqual(compiled_alone(files), (0, ""))

    def test_a_source_that_forgets_an_include_is_named(self):
        code, report = compiled_alone({"weir/base/a.cc": "std::string Name() { return {}; }\n"})
        self.assertEqual(code, 1)
        self.assertIn("weir/base/a.cc does not compile by itself", report)

    def test_a_header_that_a_source_checks_by_including_it_first(self):
        files = {"weir/base/a.h": "std::string Name();\n", "weir/base/a.cc": self.SOURCE}
        self.assertIn("weir/base/a.cc does not compile by itself", compiled_alone(files)[1])

    def test_a_header_without_a_source_that_forgets_an_include_is_named(self):
        files = {"weir/base/a.h": self.HEADER, "weir/base/a.cc": self.SOURCE,
                 "weir/base/b.h": "std::string Other();\n"}
        code, report = compiled_alone(files)
        self.assertEqual(code, 1)
        self.assertIn("While building module 'weir/base/b.h'", report)

    def test_what_another_header_includes_is_not_taken_from_it(self):
        files = {"weir/base/a.h": self.HEADER, "weir/base/b.h": "std::string Other();\n",
                 "weir/base/a.cc": self.SOURCE + '#include "weir/base/b.h"\n'}
        self.assertIn("While building module 'weir/base/b.h'", compiled_alone(files)[1])


class Layers(unittest.TestCase):
    def test_a_clean_project_passes(self):
        self.assertEqual(planted({"weir/store/a.cc": '#include "weir/base/time.h"\n'}), (0, ""))

    def test_a_forbidden_include_is_named(self):
        code, report = planted({"weir/bucket/a.h": '#include "weir/store/bucket/charge.h"\n'})
        self.assertEqual(code, 1)
        self.assertIn("weir/bucket/a.h: includes weir/store/bucket/charge.h", report)

    def test_what_a_test_may_include_its_module_may_not(self):
        include = '#include "weir/sim/sim_scheduler.h"\n'
        self.assertEqual(planted({"weir/store/a_test.cc": include}), (0, ""))
        self.assertIn("weir/store/a.cc", planted({"weir/store/a.cc": include})[1])

    def test_no_module_includes_the_applications(self):
        self.assertEqual(planted({"weir/store/a.h": '#include "apps/weir/command.h"\n'})[0], 1)

    def test_an_included_source_is_refused(self):
        code, report = planted({"weir/store/a.cc": '#include "weir/base/time.cc"\n'})
        self.assertEqual(code, 1)
        self.assertIn("weir/store/a.cc: includes the source weir/base/time.cc", report)

    def test_a_general_name_is_refused(self):
        self.assertIn("weir/store/utils.h", planted({"weir/store/utils.h": ""})[1])

    def test_a_folder_has_at_most_25_units(self):
        files = {f"weir/store/a{i}{end}": "" for i in range(25) for end in (".cc", ".h", "_test.cc")}
        self.assertEqual(planted(files), (0, ""))
        report = planted(files | {"weir/store/b.h": ""})[1]
        self.assertIn("weir/store: 26 units in one folder; at most 25", report)

    def test_test_support_is_in_the_folder_testing(self):
        self.assertIn("weir/store/a_fixture.h: test support", planted({"weir/store/a_fixture.h": ""})[1])

    def test_test_support_may_include_what_tests_may(self):
        include = '#include "weir/sim/sim_scheduler.h"\n'
        self.assertEqual(planted({"weir/store/testing/a.h": include}), (0, ""))

    def test_the_table_of_modules_is_complete(self):
        self.assertIn("README.md: the table of modules lacks", planted({"README.md": "nothing\n"})[1])


class Cycle(unittest.TestCase):
    def test_a_module_cannot_name_one_that_is_defined_later(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.25)\nproject(cycle LANGUAGES CXX)\n"
                f"include({SOURCE}/cmake/WeirModule.cmake)\n"
                "weir_module(upper PURPOSE first MODULES lower SOURCES a.cc)\n"
                "weir_module(lower PURPOSE second MODULES upper SOURCES a.cc)\n")
            (root / "a.cc").write_text("")
            done = subprocess.run(["cmake", "-S", root, "-B", root / "build"],
                                  capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("module upper needs module lower", " ".join(done.stderr.split()))


if __name__ == "__main__":
    unittest.main()
