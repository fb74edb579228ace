#!/usr/bin/env python3
"""Weir's rate limit service compared with limitador 0.14.0 (Rust) and envoyproxy/ratelimit (Go, Redis).

usage: compare.py [--rounds N] [--seconds S] [--weir PROGRAM] [--client PROGRAM] [--json FILE]

One client (client.cc) sends the same bytes to each server in turn, in every round: 4 connections,
64 calls in flight, 1,000 keys, one descriptor, 100 rules. The server runs on core 0, the client on
core 1. CPU time is the server's, from /proc, for each decision. The output shows medians; ratios
are medians of the rounds' ratios: a machine that slows down slows both. Missing peers are skipped.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True  # the sources stay as they are
import servers

BUILT = servers.ROOT / "build/bench"
TIGHT = ("--tight-of-ten", "9")
OPEN = ("--rate", "2000")
BOTH_CORES = "0,1"


def scenarios(program, peers):
    """name -> its options for the client, and name of a server -> how to start it. Ratios are to
    the first of the servers that runs."""
    def ours(**options):
        return lambda: servers.weir(program, **options)

    two_loops = {"two loops": ours(threads=2, cores=BOTH_CORES),
                 "one loop": ours(threads=1, cores=BOTH_CORES)}
    sqlite = ours(store="sqlite:{folder}/weir.db", options=("--durability", "relaxed"))
    return {"allow": ((), {"weir": ours()} | peers),
            "90 % refused": (TIGHT, {"weir": ours()} | peers),
            "SQLite, relaxed": ((), {"weir": sqlite, "weir, memory": ours()}),
            "two loops": ((), two_loops),
            "2,000/s": (OPEN, {"weir": ours()} | peers)}


def find_peers():
    found = {}
    for name, build, start in (("limitador", servers.build_limitador, servers.limitador),
                               ("ratelimit", servers.build_ratelimit, servers.ratelimit)):
        try:
            program = build()
            found[name] = lambda start=start, program=program: start(program)
        except servers.Skipped as reason:
            print(f"compare: {reason}", file=sys.stderr)
    return found


def run_client(client, server, seconds, options):
    done = subprocess.run(["taskset", "--cpu-list", servers.CLIENT_CORES, client, str(server.port),
                           "--seconds", str(seconds), *options],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"compare: {server.name}: {done.stderr.strip()}")
    counts = json.loads(done.stdout)
    if counts["errors"] or counts["decisions"] == 0:
        sys.exit(f"compare: {server.name}: {counts['errors']} calls failed: {done.stdout.strip()}")
    return counts


def take(client, start, seconds, options):
    with start() as server:
        run_client(client, server, 0.3, options)  # the buckets exist, code and caches are warm
        before = server.cpu_us()
        counts = run_client(client, server, seconds, options)
        spent = server.cpu_us() - before
        return {"cpu_us": spent / counts["decisions"], "per_s": counts["per_s"],
                "p50_us": counts["p50_us"], "p99_us": counts["p99_us"],
                "over_limit": counts["over_limit"] / counts["decisions"],
                "client_us": 1e6 * counts["client_cpu_s"] / counts["decisions"],
                "rss_mb": server.rss_kb() / 1_024}


def measure(client, options, started, arguments):
    """name -> figures of each round. The order is reversed in every second round."""
    taken = {name: [] for name in started}
    for number in range(arguments.rounds):
        names = list(started)[::-1 if number % 2 else 1]
        for name in names:
            taken[name].append(take(client, started[name], arguments.seconds, options))
    return taken


def rows_of(scenario, taken):
    first = next(iter(taken.values()))
    rows = []
    for name, rounds in taken.items():
        row = {key: statistics.median(figures[key] for figures in rounds) for key in rounds[0]}
        for key in ("cpu_us", "p99_us"):
            row[f"first_to_this_{key}"] = statistics.median(
                ours[key] / theirs[key] for ours, theirs in zip(first, rounds))
        rows.append({"scenario": scenario, "server": name} | row)
    return rows


def show(rows):
    for row in rows:
        print(f"{row['scenario']:16} {row['server']:13} {row['cpu_us']:8.2f} {row['per_s']:10,.0f} "
              f"{row['p50_us']:7.0f} {row['p99_us']:8.0f} {100 * row['over_limit']:6.1f} "
              f"{row['rss_mb']:6.1f} {row['first_to_this_cpu_us']:8.2f} "
              f"{row['first_to_this_p99_us']:8.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="./dev bench rls")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--only", action="append", help="names of scenarios")
    parser.add_argument("--weir", default=BUILT / "bin/weir")
    parser.add_argument("--client", default=BUILT / "bench/weir_rls_client")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path)
    arguments = parser.parse_args()
    results = []
    print(f"{'scenario':16} {'server':13} {'cpu us':>8} {'per s':>10} {'p50 us':>7} {'p99 us':>8} "
          f"{'over %':>6} {'RSS MB':>6} {'cpu: 1st':>8} {'p99: 1st':>8}\n"
          f"{'':75} {'to this':>8} {'to this':>8}")
    for name, (options, started) in scenarios(arguments.weir, find_peers()).items():
        if arguments.only and name not in arguments.only:
            continue
        rows = rows_of(name, measure(arguments.client, options, started, arguments))
        show(rows)
        results += rows
    if arguments.json:
        arguments.json.write_text(json.dumps({"results": results}, indent=2) + "\n")


if __name__ == "__main__":
    try:
        main()
    except servers.Skipped as reason:
        sys.exit(f"compare: {reason}")
