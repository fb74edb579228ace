#!/usr/bin/env python3
"""Weir beside governor (Rust, from crates.io): the same loop, the same cached clock, in turn.

usage: bench_peers.py [--json FILE]

Builds bench/peers with cargo, then runs both programs alternately and prints medians. A figure is the
thread's CPU time for one decision of the case, loop included. weir_bench_peers must be built (./dev bench does).
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = ["allow", "deny", "keyed_1m", "keyed_1m_strings"]
ROUNDS = 5


def build_governor():
    if shutil.which("cargo") is None:
        sys.exit("bench_peers: cargo is missing; install a Rust toolchain (Debian: rustc-web and "
                 "cargo-web), then try again")
    folder = ROOT / "bench/peers"
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet"], cwd=folder, check=True)
    return folder / "target/release/peers"


def run(program, case):
    done = subprocess.run([program, case], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[1])


def measure(ours, theirs):
    pairs = {case: [] for case in CASES}
    for _ in range(ROUNDS):
        for case in CASES:
            pairs[case].append((run(ours, case), run(theirs, case)))
    return pairs


def result(case, pairs):
    """The ratio is the median of the pairs' ratios: a machine that slows down slows both."""
    return {"name": f"peers_{case}", "value": statistics.median(a for a, _ in pairs), "unit": "ns",
            "reference": statistics.median(b for _, b in pairs),
            "ratio": statistics.median(a / b for a, b in pairs)}


def main():
    parser = argparse.ArgumentParser(prog="./dev bench peers")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    pairs = measure(ROOT / "build/bench/bench/weir_bench_peers", build_governor())
    results = [result(case, pairs[case]) for case in CASES]
    print(f"{'name':24} {'weir ns':>10} {'governor ns':>12} {'ratio':>7}")
    for row in results:
        print(f"{row['name']:24} {row['value']:10.2f} {row['reference']:12.2f} {row['ratio']:7.2f}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps({"results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
