#!/usr/bin/env python3
"""Compiles every source and header of the program and of the benchmarks by itself, for its syntax only.

usage: check_alone.py BUILD [ROOT]

BUILD is a folder that was configured without batches and without precompiled headers: both hide an
#include that a file forgets. A source includes the header of its name first, which checks that
header as well; the other headers are compiled on their own.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

CHECKED = ("weir", "apps", "bench")
TEST_FOLDERS = re.compile(r"_(test|testing|contract)\.dir/")
FIRST_INCLUDE = re.compile(r'^\s*#\s*include\s*(["<][^">]+[">])', re.MULTILINE)


def sources(build, root):
    """Path below ROOT -> compiler arguments, of the program's sources."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if not path.is_relative_to(root) or TEST_FOLDERS.search(entry["command"]):
            continue
        relative = path.relative_to(root)
        if relative.parts[0] in CHECKED:
            found[relative] = arguments(entry["command"])
    return found


def arguments(command):
    words = [word for word in shlex.split(command) if os.path.basename(word) != "ccache"]
    cut = words.index("-o")
    return words[:cut]


def checked_by_a_source(source, root):
    header = source.with_suffix(".h")
    first = FIRST_INCLUDE.search((root / source).read_text())
    return header if first and first.group(1) == f'"{header}"' else None


def jobs(build, root):
    commands = sources(build, root)
    checked = {checked_by_a_source(source, root) for source in commands}
    by_folder = {}
    for source, words in commands.items():
        by_folder.setdefault(source.parent, words)
        yield source, words + ["-fsyntax-only", str(root / source)]
    for top in CHECKED:
        for path in sorted((root / top).rglob("*.h")):
            header = path.relative_to(root)
            words = by_folder.get(header.parent)
            if header not in checked and words:
                yield header, words + ["-fsyntax-only", "-x", "c++", "-include", str(path), os.devnull]


def compile_one(job):
    name, words = job
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    return name, ran.returncode, ran.stderr


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ".").resolve()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, code, message in pool.map(compile_one, jobs(build, root)):
            if code != 0:
                failed += 1
                print(f"{name} does not compile by itself:\n{message}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
