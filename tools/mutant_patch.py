"""A mutant: a patch with one planted bug, and the test that must fail because of it.

A file of tests/mutants begins with its header; the rest is a diff for `git apply`:

    # mutant: <one sentence: the promise that it breaks>
    # test: gtest <CMake target> <filter>
    # test: simulation <scenario file> <first seed> <last seed>     (one of the two)
    # hang: yes                                                     (only if the test hangs with it)
"""

import dataclasses
import re

from check_layers import TEST_FILE

KEYS = ("mutant", "test", "hang")
HEADER_LINE = re.compile(r"# (\w+): *(.*)")
CHANGED_FILE = re.compile(r"^(?:---|\+\+\+) (\S+)", re.MULTILINE)
TEST_FORMS = "'gtest <target> <filter>' or 'simulation <scenario> <first seed> <last seed>'"


class Malformed(Exception):
    """The file is not a mutant; the message says where and what would be right."""


@dataclasses.dataclass(frozen=True)
class Gtest:
    target: str
    filter: str

    def __str__(self):
        return f"gtest {self.target} {self.filter}"

    def arguments(self):
        return [f"--gtest_filter={self.filter}", "--gtest_brief=1"]


@dataclasses.dataclass(frozen=True)
class Simulation:
    scenario: str
    first: int
    last: int

    def __str__(self):
        return f"simulation {self.scenario} {self.first} {self.last}"

    def arguments(self):
        return [self.scenario, str(self.first), str(self.last)]


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    promise: str
    test: Gtest | Simulation
    hangs: bool
    files: tuple[str, ...]  # that the diff changes, below the root


def parse(name, text):
    """The mutant of the file `name`.patch. Raises Malformed."""
    header, diff = split(name, text)
    fields = header_fields(name, header)
    for key in ("mutant", "test"):
        if not fields.get(key):
            raise Malformed(f"{name}.patch: the header lacks '# {key}: ...'")
    if fields.get("hang", "yes") != "yes":
        raise Malformed(f"{name}.patch: '# hang: {fields['hang']}' is not understood; write '# hang: yes' or no line")
    return Mutant(name, fields["mutant"], parse_test(name, fields["test"]), "hang" in fields, changed_files(name, diff))


def split(name, text):
    lines = text.splitlines(keepends=True)
    for i, line in enumerate(lines):
        if line.startswith(("diff --git ", "--- ")):
            return lines[:i], "".join(lines[i:])
    raise Malformed(f"{name}.patch: no diff follows the header; it begins with 'diff --git a/... b/...'")


def header_fields(name, lines):
    fields = {}
    for number, line in enumerate(lines, 1):
        found = HEADER_LINE.fullmatch(line.strip())
        if not found or found[1] not in KEYS:
            raise Malformed(f"{name}.patch:{number}: '{line.strip()}' is not understood; a line of the header is "
                            "'# mutant: ...', '# test: ...' or '# hang: yes'")
        if found[1] in fields:
            raise Malformed(f"{name}.patch:{number}: a second '# {found[1]}:'; a mutant has one")
        fields[found[1]] = found[2]
    return fields


def parse_test(name, text):
    match text.split():
        case ["gtest", target, pattern] if "-" not in pattern:
            return Gtest(target, pattern)
        case ["gtest", _, _]:
            raise Malformed(f"{name}.patch: the filter of '{text}' excludes tests with '-'; name the tests that must fail")
        case ["simulation", scenario, first, last] if first.isdecimal() and last.isdecimal():
            if int(first) > int(last):
                raise Malformed(f"{name}.patch: '{text}' has no seeds; the first is at most the last")
            return Simulation(scenario, int(first), int(last))
    raise Malformed(f"{name}.patch: '# test: {text}' is not understood; write {TEST_FORMS}")


def changed_files(name, diff):
    """A mutant changes the program: a test that is changed would prove nothing."""
    files = []
    for found in CHANGED_FILE.findall(diff):
        path = found.split("/", 1)[1]
        if found == "/dev/null":
            raise Malformed(f"{name}.patch: adds or deletes a file; a mutant changes files that exist")
        if not path.startswith(("weir/", "apps/")) or path.startswith("weir/sim/") or TEST_FILE.search(path):
            raise Malformed(f"{name}.patch: changes {path}; a mutant changes sources of the program below weir or apps")
        files.append(path)
    if not files:
        raise Malformed(f"{name}.patch: the diff names no file; its lines are '--- a/...' and '+++ b/...'")
    return tuple(sorted(set(files)))
