#!/usr/bin/env python3
"""Weir's rate limit service while hostile clients load it, next to a client that keeps the rules.

usage: hostile.py [--only NAME]... [--seconds S] [--keys N] [--connections N] [--no-control]
                  [--weir PROGRAM] [--client PROGRAM]

The server runs on core 0 with one loop and its buckets in memory. On core 1 the client calls it
5,000 times a second on 4 connections, with 1,000 keys, of which 100 are over their limit, while one
process of hostile_client.py sends the load. The names of the loads are those of `LOADS` there. The
output shows for each load:

* the calls of the client that were served within 50 ms, as a share of those that were due, which
  must be at least 99 %, and those that failed, of which there must be none;
* the calls admitted on keys that are over their limit, of which there must be none;
* the server's memory before the load, at most, and afterwards, and the bound on its growth;
* the same client afterwards, alone;
* the control: the client while the load goes to a process that only reads (sink.py), which itself
  runs only in what the server leaves of core 0. If the share of served calls is below 99 % there
  too, the client had too little of core 1, and the row says nothing about the server.

`keys` and `keys-tight` last until the number of different keys is reached, and the client's share is that of
the worst of its runs; all others last for the given seconds. Then 1,000 keys that are new are used.
The exit code is 1 if a row does not hold.
"""

import argparse
import contextlib
import dataclasses
import json
import resource
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # the sources stay as they are
import runs
import servers

RATE = 5_000
TIGHT = ("--tight-of-ten", 1)
SHARE = 0.99
CONTROL_SECONDS = 10
SETTLE_SECONDS = 3
LONGEST_FLOOD = 600  # seconds, for a load that ends by itself unless the server stops serving it
MB = 1_024  # in KB
FLOODS = ("keys", "keys-tight")


@dataclasses.dataclass
class Row:
    """A load, and the KB by which it may make the server's memory grow."""

    growth: int
    why: str


def rows_of(keys):
    few = Row(64 * MB, "8 connections with 8 MB each")
    rows = {"slow": Row(1_000 * 64, "64 KB for each of 1,000 connections"),
            "unread": Row(1_000 * 256, "256 KB for each of 1,000 connections"),
            "stalled": Row(1_000 * 4 * MB, "max_connection_pending for each of 1,000 connections"),
            "window": Row(256_000 * 4, "4 KB for each of 256,000 streams"),
            "incomplete": Row(200 * 8 * MB, "8 MB for each of 200 connections, twice max_kept")}
    for name in ("reset", "reset-decided", "continuation", "continuation-large", "settings", "ping",
                 "priority", "window-update", "hpack", "gzip", "gzip-descriptors", "descriptors",
                 "unknown-path", "oversize", "empty-data"):
        rows[name] = few
    for name in FLOODS:
        rows[name] = Row(keys_of(name, keys) * 700 // 1_024, "700 bytes for each key")
    return rows


def keys_of(name, keys):
    """`keys-tight` uses more than the table holds, if the default does."""
    return keys if name == "keys" else keys + keys // 50


@contextlib.contextmanager
def hostile(name, port, *options):
    """Yields the process of a load that is ended with the block."""
    process = subprocess.Popen(
        ["taskset", "--cpu-list", servers.CLIENT_CORES, sys.executable, "-B",
         servers.HERE / "hostile_client.py", name, str(port), *map(str, options)],
        stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextlib.contextmanager
def sink(cut):
    """Yields the port of one."""
    process = subprocess.Popen(["taskset", "--cpu-list", servers.SERVER_CORES, sys.executable, "-B",
                                servers.HERE / "sink.py", str(cut)],
                               stdout=subprocess.PIPE, text=True)
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def failed_of(counts):
    return counts["errors"] + counts["exhausted"] + counts["deadline"]


def share_of(counts, seconds):
    """Of the calls that were due after the warm-up: also those that were not sent, because all
    streams were in use, and those without a result."""
    return max(counts["in_50_ms"] - failed_of(counts), 0) / (RATE * seconds)


def run_beside(arguments, server, seconds, memory):
    load = runs.start_client(arguments.client, server, seconds, "--rate", RATE, *TIGHT)
    memory += runs.memory_while(load, server, 0.1)
    return runs.counts_of(load)


def run_load(name, arguments, server, memory):
    """The counts of the client's runs meanwhile, and of the load."""
    options = ["--seconds", arguments.seconds + 2]
    if name in FLOODS:
        options = ["--seconds", LONGEST_FLOOD, "--count", keys_of(name, arguments.keys)]
    if arguments.connections:
        options += ["--connections", arguments.connections]
    counts = []
    with hostile(name, server.port, *options) as process:
        time.sleep(0.5)
        while not counts or name in FLOODS and process.poll() is None:
            counts.append(run_beside(arguments, server, arguments.seconds, memory))
        output, _ = process.communicate()
    if process.returncode != 0:
        raise runs.Failed(f"hostile_client.py {name} ended with {process.returncode}")
    return counts, json.loads(output)


def run_control(name, arguments, server, sent):
    """The client's share while the load goes elsewhere, which ends connections as the server did."""
    cut = sent["bytes_sent"] // sent["connections"] if sent.get("cut") else 0
    with sink(cut) as port, hostile(name, port, "--blind", "--seconds", CONTROL_SECONDS + 5):
        time.sleep(0.5)
        counts = runs.run_client(arguments.client, server, CONTROL_SECONDS, "--rate", RATE, *TIGHT)
    return share_of(counts, CONTROL_SECONDS)


def run_afterwards(arguments, server):
    """Runs the client up to three times, until its share suffices, and returns the last counts: a server
    that has not recovered fails all three."""
    for _ in range(3):
        counts = runs.run_client(arguments.client, server, 2, "--rate", RATE, *TIGHT)
        if share_of(counts, 2) >= SHARE or failed_of(counts):
            break
    return counts


def core_0(server):
    return time.monotonic(), server.cpu_us(), server.waiting_us()


def shares_of_core_0(before, after):
    """Of the time between: the server ran, and wanted to run while other processes did."""
    elapsed, ran, waited = (late - early for early, late in zip(before, after))
    return ran / 1e6 / elapsed, waited / 1e6 / elapsed


def describe(sent):
    texts = [f"{sent['connections']:,} connections", f"{sent.get('cut', 0):,} of them cut",
             f"{sent.get('bytes_sent', 0) / 1e6:,.0f} MB in {sent['seconds']:.0f} s"]
    if sent["answered"]:
        texts.append(f"{sent['answered']:,} answers, {sent['decided']:,} of them decisions")
    return ", ".join(texts)


def measure(name, row, arguments):
    """Prints the figures of a row and returns what does not hold."""
    with servers.weir(arguments.weir) as server:
        runs.run_client(arguments.client, server, 2, "--rate", RATE, *TIGHT)  # the buckets exist
        before = server.rss_kb()
        memory, core = [before], core_0(server)
        counts, sent = run_load(name, arguments, server, memory)
        used, waited = shares_of_core_0(core, core_0(server))
        time.sleep(SETTLE_SECONDS)
        settled = server.rss_kb()
        after = run_afterwards(arguments, server)
        new = runs.run_client(arguments.client, server, 2, "--rate", RATE, *TIGHT, "--keys", 2_000)
        control = run_control(name, arguments, server, sent) if arguments.control else None
    worst = min(counts, key=lambda one: share_of(one, arguments.seconds))
    share = share_of(worst, arguments.seconds)
    failed = sum(failed_of(one) for one in counts)
    readmitted = sum(one["tight_ok"] for one in counts) + after["tight_ok"]
    growth = max(memory) - before
    print(f"{name}: {describe(sent)}", flush=True)
    runs.show(
        served_within_50_ms=f"{share:.2%} of {RATE * arguments.seconds:,.0f}, p50 "
                            f"{worst['p50_us'] / 1000:.2f} ms, p99 {worst['p99_us'] / 1000:.1f} ms, "
                            f"longest {max(one['max_us'] for one in counts) / 1000:.0f} ms",
        failed=f"{failed:,}, not sent because all streams were in use: "
               f"{sum(one['unsent'] for one in counts):,}",
        admitted_over_the_limit=readmitted,
        memory=f"{before / MB:.1f} MB, at most {max(memory) / MB:.1f} MB, then {settled / MB:.1f} MB",
        bound_on_its_growth=f"{row.growth / MB:,.0f} MB ({row.why})",
        core_0=f"the server used {used:.0%} and waited {waited:.0%} for other processes",
        afterwards=f"{share_of(after, 2):.2%} within 50 ms, {failed_of(after)} failed",
        new_keys_afterwards=f"{failed_of(new)} of {new['decisions'] + failed_of(new):,} failed")
    if control is not None:
        runs.show(control=f"{control:.2%} within 50 ms" +
                  ("" if control >= SHARE else ": the client had too little of core 1"))
    return [text for holds, text in (
        (share >= SHARE, f"{share:.2%} within 50 ms"), (failed == 0, f"{failed:,} calls failed"),
        (readmitted == 0, f"{readmitted} calls admitted over the limit"),
        (growth <= row.growth, f"the memory grew by {growth / MB:,.0f} MB"),
        (share_of(after, 2) >= SHARE and failed_of(after) == 0, "the server is not as before"),
        (failed_of(new) == 0, "new keys are refused")) if not holds]


def main():
    parser = argparse.ArgumentParser(prog="hostile.py")
    parser.add_argument("--only", action="append", help="names of loads")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--connections", type=int, help="hostile ones; each load has its own number")
    parser.add_argument("--no-control", dest="control", action="store_false")
    runs.add_programs(parser)
    arguments = parser.parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    rows = rows_of(arguments.keys)
    unknown = set(arguments.only or ()) - set(rows)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: the loads are {', '.join(rows)}")
    broken = []
    for name, row in rows.items():
        if arguments.only and name not in arguments.only:
            continue
        try:
            faults = measure(name, row, arguments)
        except runs.Failed as reason:
            print(f"{name}:")
            faults = [str(reason)]
        runs.show(verdict="holds" if not faults else "DOES NOT HOLD: " + "; ".join(faults))
        broken += faults
    return 1 if broken else 0


if __name__ == "__main__":
    runs.run_main("hostile", main)
