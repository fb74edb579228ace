"""What a build folder registers with ctest: its programs, their tests, the simulations with their scenarios."""

import json
import pathlib
import re
import subprocess

from mutant_patch import Gtest

NOT_BUILT = "_NOT_BUILT"
FILTER = "--gtest_filter="
# ctest itself hides the commands of programs that are not built.
SIMULATION = re.compile(r'^add_test\(\S+ "([^"]+)" "[^"]*/(tests/simulation/scenarios/[^"/]+)"', re.MULTILINE)


class RegisteredTests:
    def __init__(self, build):
        listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True,
                                check=True)
        tests = json.loads(listed.stdout)["tests"]
        self.unbuilt = {test["name"].removesuffix(NOT_BUILT) for test in tests if test["name"].endswith(NOT_BUILT)}
        self.gtests = {}  # program -> the names of its tests
        for test in tests:
            program, *arguments = test.get("command") or [""]
            if arguments and arguments[0].startswith(FILTER):
                self.gtests.setdefault(program, set()).add(arguments[0].removeprefix(FILTER))
        self.simulations = {}  # scenario, below the root -> program
        for file in pathlib.Path(build).rglob("CTestTestfile.cmake"):
            self.simulations |= {scenario: program for program, scenario in SIMULATION.findall(file.read_text())}

    def program_of(self, test):
        """None: no such program is registered, or it is a gtest program that is not built."""
        if isinstance(test, Gtest):
            return next((program for program in self.gtests if pathlib.Path(program).name == test.target), None)
        return self.simulations.get(test.scenario)

    def target_of(self, test):
        """The CMake target to build for it; None: there is none."""
        if isinstance(test, Gtest):
            return test.target if test.target in self.unbuilt or self.program_of(test) else None
        program = self.program_of(test)
        return pathlib.Path(program).name if program else None

    def problem_of(self, test):
        """Why it cannot run; empty: it can."""
        if isinstance(test, Gtest):
            return self.problem_of_gtest(test)
        if not self.program_of(test):
            return (f"no simulation runs '{test.scenario}'; tests/CMakeLists.txt registers them: "
                    f"{', '.join(sorted(self.simulations))}")
        return ""

    def problem_of_gtest(self, test):
        if test.target in self.unbuilt:
            return f"{test.target} is not built, so its tests are not known; build it first"
        program = self.program_of(test)
        if not program:
            return f"no test program is called '{test.target}'; the targets of `weir_module` and `weir_test` are"
        for pattern in test.filter.split(":"):
            if not any(as_expression(pattern).fullmatch(name) for name in self.gtests[program]):
                return f"no test of {test.target} is called '{pattern}'; gtest would run none and report success"
        return ""


def as_expression(pattern):
    """gtest's patterns know * and ? only."""
    return re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."))
