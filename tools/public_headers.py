#!/usr/bin/env python3
"""Prints the headers that HEADER... include, themselves among them, one in a line.

usage: public_headers.py ROOT HEADER... [--without HEADER...]
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"(weir/[^"]+)"', re.MULTILINE)
GENERATED = "weir/version.h"


def closure(root, headers, without):
    seen, todo = set(), list(headers)
    while todo:
        header = todo.pop()
        if header in seen or header in without:
            continue
        seen.add(header)
        todo += INCLUDE.findall((root / header).read_text())
    return seen


def main():
    headers = sys.argv[2:]
    cut = headers.index("--without") if "--without" in headers else len(headers)
    for header in sorted(closure(pathlib.Path(sys.argv[1]), headers[:cut], {GENERATED, *headers[cut + 1:]})):
        print(header)


if __name__ == "__main__":
    main()
