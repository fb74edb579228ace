#!/usr/bin/env python3
"""Plants the bugs of tests/mutants one by one and runs the test of each, which must fail.

usage: mutants.py [NAME...]        from the root of the source tree; all of them without a NAME
       mutants.py --check BUILD    only checks that each applies and that its test is registered in BUILD

It works on a copy below build/mutants: the source tree is only read. docs/design/mutants.md
"""

import difflib
import fcntl
import os
import pathlib
import signal
import sys
import textwrap
import time

import mutant_patch
from mutant_copy import Copy, applies, run_limited
from registered_tests import RegisteredTests

FOLDER = "tests/mutants"
SHORTEST_LIMIT = 60  # seconds; otherwise ten times as long as without the bug
SHORTEST_HANG = 20  # of a test that is to hang
LIMIT_FACTOR = 10
LONGEST_UNPATCHED = 600

CAUGHT = "caught"
SURVIVED = "SURVIVED"


def fail(text):
    print(f"mutants: {text}", file=sys.stderr)
    sys.exit(2)


def read_mutants(root):
    """The mutants of the folder by name, and the problems of files that are none."""
    mutants, problems = {}, []
    for path in sorted((root / FOLDER).iterdir()):
        if path.suffix != ".patch":
            problems.append(f"{FOLDER}/{path.name}: not a mutant; their names end with .patch")
            continue
        try:
            mutants[path.stem] = mutant_patch.parse(path.stem, path.read_text())
        except mutant_patch.Malformed as malformed:
            problems.append(f"{FOLDER}/{malformed}")
    return mutants, problems


def check(root, build):
    mutants, problems = read_mutants(root)
    registered = RegisteredTests(build)
    for mutant in mutants.values():
        for problem in (registered.problem_of(mutant.test), applies(root, patch_of(root, mutant))):
            if problem:
                problems.append(f"{FOLDER}/{mutant.name}.patch: {problem}")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def patch_of(root, mutant):
    return root / FOLDER / f"{mutant.name}.patch"


def all_mutants(root):
    mutants, problems = read_mutants(root)
    if problems:
        fail("\n".join(["these files are no mutants:", *problems]))
    return mutants


def chosen(mutants, names):
    for name in names:
        if name not in mutants:
            near = difflib.get_close_matches(name, mutants, 3) or sorted(mutants)
            fail(f"no mutant is called '{name}' in {FOLDER}; perhaps {', '.join(near)}")
    return [mutants[name] for name in names or mutants]


class Unpatched:
    """How long each test takes without a bug; it must pass, or its failure would say nothing of one."""

    def __init__(self, copy, mutants):
        self.copy = copy
        tests = list(dict.fromkeys(mutant.test for mutant in mutants))
        self.registered = RegisteredTests(copy.build)
        targets = sorted({self.registered.target_of(test) for test in tests} - {None})
        print(f"mutants: building {', '.join(targets)} without a bug", flush=True)
        report = copy.compile(targets)
        if report:
            fail(f"the source tree does not build:\n{report}")
        self.registered = RegisteredTests(copy.build)  # knows the tests of the programs that are built now
        self.problems, self.times = {}, {}
        for test in tests:
            self.measure(test)

    def measure(self, test):
        problem = self.registered.problem_of(test)
        if problem:
            self.problems[test] = problem
            return
        began = time.monotonic()
        code, output = self.run(test, LONGEST_UNPATCHED)
        self.times[test] = time.monotonic() - began
        if code != 0:
            how = f"does not end in {LONGEST_UNPATCHED} s" if code is None else "fails"
            self.problems[test] = f"'{test}' {how} without the bug:\n{output[-2000:]}"

    def limit_of(self, mutant):
        shortest = SHORTEST_HANG if mutant.hangs else SHORTEST_LIMIT
        return max(shortest, LIMIT_FACTOR * self.times[mutant.test])

    def run(self, test, limit):
        return run_limited([self.registered.program_of(test), *test.arguments()], self.copy.tree, limit)


def outcome_of(mutant, unpatched, copy, patch):
    """One word or two for the table, and what explains it."""
    if mutant.test in unpatched.problems:
        return "no test", unpatched.problems[mutant.test]
    try:
        problem = copy.apply(mutant, patch)
        if problem:
            return "does not apply", problem
        report = copy.compile([unpatched.registered.target_of(mutant.test)])
        if report:
            return "does not build", report
        code, output = unpatched.run(mutant.test, unpatched.limit_of(mutant))
    finally:
        copy.restore()
    if code is None:
        return (CAUGHT, "it hangs") if mutant.hangs else ("timed out", "add '# hang: yes' if that is how it fails")
    if code == 0:
        return SURVIVED, f"'{mutant.test}' passes; {mutant.promise}"
    return CAUGHT, (f"signal {-code}\n" if code < 0 else "") + output[-2000:]


def run(root, names):
    mutants = all_mutants(root)
    planted = chosen(mutants, names)
    copy = Copy(root)
    copy.bring_up_to_date()
    # Those of all mutants: batches stay the same whichever are chosen.
    problem = copy.configure(sorted({file for mutant in mutants.values() for file in mutant.files}))
    if problem:
        fail(f"the source tree cannot be configured:\n{problem}")
    unpatched = Unpatched(copy, planted)
    survivors = 0
    # Those of one file follow each other, so that it is compiled once for each of them.
    for mutant in sorted(planted, key=lambda mutant: (mutant.files, mutant.name)):
        began = time.monotonic()
        outcome, detail = outcome_of(mutant, unpatched, copy, patch_of(copy.tree, mutant))
        print(f"{outcome:<15} {mutant.name:<48} {time.monotonic() - began:5.0f} s", flush=True)
        survivors += outcome != CAUGHT
        if outcome != CAUGHT or names:  # with names: how it was caught
            print(textwrap.indent(detail.strip(), "    "), flush=True)
    print(f"mutants: {len(planted) - survivors} of {len(planted)} were caught")
    return 1 if survivors else 0


def run_alone(root, names):
    (root / "build/mutants").mkdir(parents=True, exist_ok=True)
    with open(root / "build/mutants/lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fail("another run uses build/mutants; wait until it ends")
        return run(root, names)


def main():
    root = pathlib.Path.cwd()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if sys.argv[1:2] == ["--check"] and len(sys.argv) == 3:
            return check(root, pathlib.Path(sys.argv[2]).resolve())
        return run_alone(root, sys.argv[1:])
    except KeyboardInterrupt:
        print("mutants: interrupted; the source tree is as it was", file=sys.stderr)
        return 130


if __name__ == "__main__":
    os.environ["RC_PARAMS"] = "seed=1"  # random cases are the same with and without the bug
    sys.exit(main())
