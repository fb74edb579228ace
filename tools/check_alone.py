#!/usr/bin/env python3
"""Compiles every source and header of the program and of the benchmarks by itself, for its syntax only.

usage: check_alone.py BUILD [ROOT]

BUILD is a folder that was configured for ROOT; its sources and their include folders are taken from it,
and its generated headers must exist.

Each header is a clang module (https://clang.llvm.org/docs/Modules.html): it is compiled once, without
earlier includes, and a file sees only the declarations that its own #includes bring. So a missing
#include is found, although no header is parsed twice.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

COMPILER = "clang++-19"
CHECKED = ("weir", "apps", "bench")
TEST_FOLDERS = re.compile(r"_(test|testing|contract)\.dir/")
STANDARD_HEADER = re.compile(r"^\s*#\s*include\s*<([a-z_]+)>", re.MULTILINE)
# <cassert> has another meaning at each #include.
TEXTUAL = {"cassert"}
CACHE = "alone.modules"
# Headers of other projects that are costly to parse. The others are parsed wherever they are included.
COSTLY = ("absl/container/flat_hash_map.h", "absl/container/flat_hash_set.h", "absl/container/inlined_vector.h",
          "absl/strings/str_cat.h", "boost/asio.hpp", "CLI/CLI.hpp", "fmt/format.h", "nlohmann/json.hpp",
          "simdjson.h", "tl/expected.hpp")


def compiled_sources(build, root):
    """Path below ROOT -> the compiler's words, of the sources that are checked."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if path.is_relative_to(root) and not TEST_FOLDERS.search(entry["command"]):
            relative = path.relative_to(root)
            if relative.parts[0] in CHECKED:
                found[relative] = shlex.split(entry["command"])
    return found


def shared_options(commands):
    """The definitions and include folders of all sources: with one set, a module is compiled once."""
    options = {}
    for words in commands:
        for word, following in zip(words, [*words[1:], ""]):
            if word == "-isystem":
                options[f"-isystem{following}"] = None
            elif word.startswith(("-D", "-I")):
                options[word] = None
    return ["-std=c++23", "-w", "-fsyntax-only", *options]


def checked_headers(root, sources):
    """The headers in the folders of the sources: those of other folders may need libraries that are not installed."""
    return sorted(path for folder in {source.parent for source in sources} for path in (root / folder).glob("*.h"))


def system_folders(options):
    """Where the compiler looks for <...>, first one first."""
    ran = subprocess.run([COMPILER, *options, "-E", "-v", "-x", "c++", os.devnull], capture_output=True,
                         text=True, check=True)
    listed = ran.stderr.split("#include <...> search starts here:\n")[1].split("End of search list.")[0]
    return [pathlib.Path(line.strip()) for line in listed.splitlines()]


def standard_headers(files):
    return sorted({name for file in files for name in STANDARD_HEADER.findall(file.read_text())} - TEXTUAL)


def module(name, path, attribute=""):
    return f'module "{name}" {attribute} {{ header "{path}" export * }}\n'


def installed(names, folders):
    """(name, path) of each header that one of the folders has."""
    for name in names:
        path = next((folder / name for folder in folders if (folder / name).is_file()), None)
        if path:
            yield name, path


def module_map(build, root, headers, folders):
    standard = standard_headers([*headers, *(root / source for source in compiled_sources(build, root))])
    generated = sorted(build.rglob("*.pb.h"))
    return "".join([
        "module std [system] {\n", *(module(*header) for header in installed(standard, folders)), "}\n",
        *(module(*header, "[system]") for header in installed(COSTLY, folders)),
        *(module(path.relative_to(build), path, "[system]") for path in generated),
        *(module(path.relative_to(root), path) for path in headers)])


def commands(build, root):
    """Each file to check, and its command. The last command compiles the headers that no source includes."""
    sources = compiled_sources(build, root)
    headers = checked_headers(root, sources)
    options = shared_options(sources.values())
    modules, all_headers = build / "alone.modulemap", build / "all_headers.cc"
    modules.write_text(module_map(build, root, headers, system_folders(options)))
    all_headers.write_text("".join(f'#include "{header}"\n' for header in headers))
    compiler = [COMPILER, *options, "-fmodules", f"-fmodule-map-file={modules}",
                f"-fmodules-cache-path={build / CACHE}"]
    return [(source, [*compiler, str(root / source)]) for source in sources] + [
        ("a header", [*compiler, str(all_headers)])]


def compile_one(job):
    name, words = job
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    return name, ran.returncode, ran.stderr


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ".").resolve()
    shutil.rmtree(build / CACHE, ignore_errors=True)  # modules of another map would be taken for these
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, code, message in pool.map(compile_one, commands(build, root)):
            if code != 0:
                failed += 1
                print(f"{name} does not compile by itself:\n{message}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
