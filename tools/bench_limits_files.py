#!/usr/bin/env python3
"""Measures how the processor time of `weir limits check`, `plan`, `apply` and `export` grows with the entities
of a file: the ratio of 100,000 entities to 10,000 is 10 if the time is linear. Prints medians of the rounds.

usage: bench_limits_files.py WEIR [ROUNDS]
"""

import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

SIZES = (10_000, 100_000)


def write_limits(path, entities):
    lines = ["namespace: default", "entities:"]
    for number in range(entities):
        lines += [f"  user-{number}:", "    resources:", "      llm:", "        limits:",
                  "          rpm: 60/min"]
    path.write_text("\n".join(lines) + "\n")


def seconds_of(weir, folder, *words):
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([weir, "--store", "sqlite:weir.db", "limits", *words], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


def measure(weir, entities):
    """The seconds of each command on a store of its own."""
    with tempfile.TemporaryDirectory() as folder:
        write_limits(pathlib.Path(folder) / "limits.yaml", entities)
        return {"check": seconds_of(weir, folder, "check", "--file", "limits.yaml"),
                "plan": seconds_of(weir, folder, "plan", "--file", "limits.yaml"),
                "apply": seconds_of(weir, folder, "apply", "--file", "limits.yaml"),
                "export": seconds_of(weir, folder, "export")}


def main():
    weir = str(pathlib.Path(sys.argv[1]).resolve())
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    results = {size: [measure(weir, size) for _ in range(rounds)] for size in SIZES}
    for command in ("check", "plan", "apply", "export"):
        small, large = (statistics.median(run[command] for run in results[size]) for size in SIZES)
        print(f"{command:7} {small:7.2f} s for {SIZES[0]}, {large:7.2f} s for {SIZES[1]}, "
              f"ratio {large / small:5.1f}")


if __name__ == "__main__":
    main()
