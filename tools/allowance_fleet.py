#!/usr/bin/env python3
"""Several processes spend the allowance of one limit, and one of them is killed.

usage: allowance_fleet.py WEIR [--store URL] [--processes N] [--demand PER_SECOND] [--seconds S]
                          [--limit SPEC] [--kill]

Each process is a `weir load` on one bucket. Prints the sums of their reports, and whether the admitted
tokens of every interval [s, t] are at most capacity + rate * (t - s). This check is exact: each process
writes a line after each admitted request. --kill: one process gets SIGKILL half-way; its lines count.
The exit code is 1 if the bound does not hold. Without --store, the tool creates a table at the DynamoDB
that the environment names (tests/engines/run.py starts one).
"""

import argparse
import json
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

UNITS = {"ms": 1, "sec": 1000, "min": 60_000, "hour": 3_600_000, "day": 86_400_000}


def numbers_of(spec):
    """Capacity, amount and period in ms of a limit in whole tokens."""
    match = re.fullmatch(r"\w+:(\d+)(?:/(\d*)(\w+?))?(?::(\d+))?(?:~\w+)?", spec)
    if match is None:
        sys.exit(f"{spec!r}: write a limit in whole tokens, such as rps:1000/sec~500ms")
    amount, count, unit, burst = match.groups()
    return int(burst or amount), int(amount), int(count or 1) * UNITS[unit or "min"]


def excess(times, capacity, amount, period):
    """The most that any interval admitted above the bound, in tokens; negative: room."""
    level, worst, last = 0, 0, None
    for at in times:
        if last is not None:
            level = max(level - (at - last) * amount, 0)
        level, last = level + period, at
        worst = max(worst, level)
    return (worst - capacity * period) / period


def start(arguments, url, folder, index):
    command = [arguments.weir, "--store", url, "load", "acme", "api",
               f"{arguments.limit.split(':')[0]}=1",
               "--rate", str(arguments.demand / arguments.processes),
               "--duration", f"{arguments.seconds}s", "--seed", str(index), "--json",
               "--acknowledged", str(folder / str(index))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def prepare(arguments):
    url = arguments.store
    if url is None:
        url = "dynamodb://allowances"
        for verb in (["table", "create"], ["namespace", "register", "default"]):
            subprocess.run([arguments.weir, "--store", url, *verb], check=True,
                           stdout=subprocess.DEVNULL)
    subprocess.run([arguments.weir, "--store", url, "resource", "set-limits", "api", "-l",
                    arguments.limit], check=True, stdout=subprocess.DEVNULL)
    return url


def run(arguments, folder):
    url = prepare(arguments)
    processes = [start(arguments, url, folder, i) for i in range(arguments.processes)]
    if arguments.kill:
        time.sleep(arguments.seconds / 2)
        processes[0].send_signal(signal.SIGKILL)
    outputs = [process.communicate()[0] for process in processes]
    reports = [json.loads(output) for output in outputs if output]
    times = sorted(int(line.split()[0]) for file in folder.iterdir()
                   for line in file.read_text().splitlines())
    return reports, times


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("weir")
    parser.add_argument("--store")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--demand", type=int, default=5000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--limit", default="rps:1000/sec~500ms")
    parser.add_argument("--kill", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        reports, times = run(arguments, pathlib.Path(folder))
    decisions = sum(report["admitted"] + report["refused"] for report in reports)
    requests = sum(sum(report["store_requests"].values()) for report in reports)
    above = excess(times, *numbers_of(arguments.limit))
    print(f"processes      {arguments.processes}, of which {len(reports)} ended by themselves")
    print(f"decisions      {decisions}, errors {sum(report['errors'] for report in reports)}")
    print(f"admitted       {len(times)} in all processes, in {(times[-1] - times[0]) / 1000} s")
    print(f"store requests {requests}, {100 * requests / max(decisions, 1):.2f} % of the decisions")
    for which, among in (("middle", statistics.median), ("slowest", max)):
        print(f"p50, p99       {among(report['p50_us'] for report in reports):.3f} us, "
              f"{among(report['p99_us'] for report in reports):.3f} us, of the {which} process")
    print(f"bound          {'held' if above <= 0 else 'BROKEN'}, {-above:.3f} tokens of room")
    return above > 0


if __name__ == "__main__":
    sys.exit(main())
