#!/usr/bin/env python3
"""Compares the sources with the modules of the build: includes, names, a README.md for each, the root README's table.

usage: check_layers.py DEPENDENCIES [ROOT]

DEPENDENCIES is the file that configuring writes (cmake/WeirModule.cmake), a line for each module:
    module -> modules it may include | modules its tests may include too | purpose
A module may include the modules it names, and what these may include.
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"((?:weir|apps)/[^"]+)"', re.MULTILINE)
FORBIDDEN = re.compile(r"^(utils?|common|core|helpers?|managers?|impl)$")
TEST_FILE = re.compile(r"(_test|_bench)\.cc$|(^|/)testing/")
MAX_UNITS = 25  # in one folder; a unit is a source with its header and tests


class Module:
    def __init__(self, line):
        self.name, rest = (part.strip() for part in line.split("->", 1))
        modules, test_modules, self.purpose = (part.strip() for part in rest.split("|", 2))
        self.modules, self.test_modules = modules.split(), test_modules.split()


def read_modules(path):
    lines = pathlib.Path(path).read_text().splitlines()
    return {module.name: module for module in map(Module, filter(None, lines))}


def closure(modules, names):
    seen, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += modules[name].modules
    return seen


def folder_of(root, module):
    return root / "apps/weir" if module == "app" else root / "weir" / module


def module_of(include):
    return "app" if include.startswith("apps/") else include.split("/")[1]


def forbidden_includes(root, modules):
    for module in modules.values():
        own = closure(modules, [module.name])
        tests = closure(modules, [module.name, *module.test_modules])
        folder = folder_of(root, module.name)
        for file in sorted(folder.rglob("*.h")) + sorted(folder.rglob("*.cc")):
            allowed = tests if TEST_FILE.search(str(file.relative_to(root))) else own
            for include in INCLUDE.findall(file.read_text()):
                if module_of(include) not in allowed:
                    yield (f"{file.relative_to(root)}: includes {include}; module {module.name} may "
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
            if "proto" in path.parts:  # the names of other projects' messages
                continue
            if FORBIDDEN.match(path.stem):
                yield f"{path.relative_to(root)}: name it after what it is, not '{path.stem}'"


def crowded_folders(root):
    units = {}
    for top in ("weir", "apps", "bench", "fuzz"):
        for path in [*(root / top).rglob("*.h"), *(root / top).rglob("*.cc")]:
            unit = re.sub(r"(_test|_bench)$", "", path.stem)
            units.setdefault(path.parent.relative_to(root), set()).add(unit)
    for folder, names in sorted(units.items()):
        if len(names) > MAX_UNITS:
            yield f"{folder}: {len(names)} units in one folder; at most {MAX_UNITS}: make sub-folders"


def misplaced_support(root):
    for top in ("weir", "apps"):
        for path in sorted((root / top).rglob("*_fixture.*")):
            inside = path.relative_to(root).as_posix()
            if not inside.startswith("weir/sim/") and not TEST_FILE.search(inside):
                yield f"{inside}: test support belongs in the module's folder testing"


def missing_pages(root, modules):
    for name in modules:
        page = folder_of(root, name) / "README.md"
        if not page.exists():
            yield f"{page.relative_to(root)}: every module has a page"
        elif len(page.read_text().splitlines()) > 30:
            yield f"{page.relative_to(root)}: longer than 30 lines"


def missing_rows(root, modules):
    readme = (root / "README.md").read_text()
    for module in modules.values():
        row = f"| `{folder_of(root, module.name).relative_to(root)}` | {module.purpose} |"
        if row not in readme:
            yield f"README.md: the table of modules lacks this row: {row}"


def main():
    root = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ".").resolve()
    modules = read_modules(sys.argv[1])
    findings = [*forbidden_includes(root, modules), *included_sources(root), *bad_names(root),
                *crowded_folders(root), *misplaced_support(root), *missing_pages(root, modules),
                *missing_rows(root, modules)]
    for finding in findings:
        print(finding, file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
