#!/usr/bin/env python3
"""Holds the sources against the house: arrows, room names, room pages, the README's room table.

usage: check_house.py ARROWS [ROOT]

ARROWS is the file that configuring writes (cmake/WeirRoom.cmake), a line for each room:
    room -> rooms it may include | rooms its tests may include too | purpose
A room may include what it names and whatever these may include in turn.
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"((?:weir|apps)/[^"]+)"', re.MULTILINE)
FORBIDDEN = re.compile(r"^(utils?|common|core|helpers?|managers?|impl)$")
TEST_FILE = re.compile(r"(_test|_bench)\.cc$|(^|_)(contract|fixture|faulty|probe|reference|generators|"
                       r"arbitrary)(_\w+)?\.(h|cc)$")


class Room:
    def __init__(self, line):
        self.name, rest = (part.strip() for part in line.split("->", 1))
        rooms, test_rooms, self.purpose = (part.strip() for part in rest.split("|", 2))
        self.rooms, self.test_rooms = rooms.split(), test_rooms.split()


def read_rooms(path):
    lines = pathlib.Path(path).read_text().splitlines()
    return {room.name: room for room in map(Room, filter(None, lines))}


def closure(rooms, names):
    seen, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += rooms[name].rooms
    return seen


def folder_of(root, room):
    return root / "apps/weir" if room == "app" else root / "weir" / room


def room_of(include):
    return "app" if include.startswith("apps/") else include.split("/")[1]


def against_arrows(root, rooms):
    for room in rooms.values():
        own = closure(rooms, [room.name])
        tests = closure(rooms, [room.name, *room.test_rooms])
        folder = folder_of(root, room.name)
        for file in sorted(folder.rglob("*.h")) + sorted(folder.rglob("*.cc")):
            allowed = tests if TEST_FILE.search(file.name) else own
            for include in INCLUDE.findall(file.read_text()):
                if room_of(include) not in allowed:
                    yield (f"{file.relative_to(root)}: includes {include}; room {room.name} may "
                           f"include only {', '.join(sorted(allowed))}")


def included_sources(root):
    for top in ("weir", "apps", "tests", "fuzz", "bench"):
        for file in sorted((root / top).rglob("*.cc")) + sorted((root / top).rglob("*.h")):
            for include in INCLUDE.findall(file.read_text()):
                if include.endswith(".cc"):
                    yield f"{file.relative_to(root)}: includes the source {include}; include its header"


def bad_names(root):
    for top in ("weir", "apps"):
        for path in sorted((root / top).rglob("*")):
            if FORBIDDEN.match(path.stem):
                yield f"{path.relative_to(root)}: name it after what it is, not '{path.stem}'"


def missing_pages(root, rooms):
    for name in rooms:
        page = folder_of(root, name) / "README.md"
        if not page.exists():
            yield f"{page.relative_to(root)}: every room has a page"
        elif len(page.read_text().splitlines()) > 30:
            yield f"{page.relative_to(root)}: longer than 30 lines"


def against_readme(root, rooms):
    readme = (root / "README.md").read_text()
    for room in rooms.values():
        row = f"| `{folder_of(root, room.name).relative_to(root)}` | {room.purpose} |"
        if row not in readme:
            yield f"README.md: the room table lacks this row: {row}"


def main():
    root = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ".").resolve()
    rooms = read_rooms(sys.argv[1])
    findings = [*against_arrows(root, rooms), *included_sources(root), *bad_names(root), *missing_pages(root, rooms),
                *against_readme(root, rooms)]
    for finding in findings:
        print(finding, file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
