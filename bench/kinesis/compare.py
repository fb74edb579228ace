#!/usr/bin/env python3
"""Weir beside aiokpl 0.2.0 (Python) and the Kinesis Producer Library 1.0.7 (Java and C++).

usage: compare.py [--rounds N] [--scale F] [--json FILE]

All put the same records into one responder on loopback, in turn, in every round: 200 random bytes,
256 keys, 4 shards, aggregation, at most 100 ms of buffering, at most 50,000 records
without a result, and a limit of the rate that is never reached. The clock runs from the first put to the last
result, after a warm-up; CPU time is the process's with its children. The output shows medians; ratios
are medians of the rounds' ratios: a machine that slows down slows both. `./dev bench kinesis` builds
and installs what is needed.
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import urllib.request

sys.dont_write_bytecode = True  # the sources stay as they are
import cpu_shares
import peers

BUILT = peers.ROOT / "build/bench/bench"
# What the SDKs find; the responder takes any.
ENVIRONMENT = os.environ | {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "none",
                            "PYTHONDONTWRITEBYTECODE": "1"}


class Responder:
    """The stream, and where it listens."""

    def __init__(self, *options):
        self.process = subprocess.Popen([BUILT / "weir_bench_kinesis_responder", *options],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.plain_port, self.port = self.process.stdout.readline().split()
        self.plain = f"http://127.0.0.1:{self.plain_port}"
        self.tls = f"https://localhost:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def stats(self):
        with contextlib.closing(urllib.request.urlopen(f"{self.plain}/stats")) as answer:
            return json.load(answer)


def rows(responder):
    """(who, how) -> command, and records for about five seconds."""
    ours = [BUILT / "weir_bench_kinesis"]
    return {("weir", "plain"): ([*ours, responder.plain], 2_000_000),
            ("aiokpl", "plain"): ([*peers.aiokpl(), responder.plain], 40_000),
            ("weir", "TLS"): ([*ours, responder.tls], 2_000_000),
            ("aiokpl", "TLS"): ([*peers.aiokpl(), responder.tls], 40_000),
            ("KPL", "TLS"): ([*peers.kpl(), responder.port], 200_000)}


def run(command, count):
    done = subprocess.run([*command, str(count)], env=ENVIRONMENT, text=True, check=False,
                          capture_output=True)
    if done.returncode != 0:
        sys.exit(f"compare: {command[0]} failed: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    if report["stored"] != count:
        sys.exit(f"compare: {command[0]}: {report['stored']} of {count} records were stored")
    return report


def figures(responder, command, count):
    before = responder.stats()
    report = run(command, count)
    after = responder.stats()
    requests, entries, cpu = (after[name] - before[name]
                              for name in ("requests", "entries", "cpu_s"))
    return {"records_s": count / report["wall_s"], "cpu_us": 1e6 * report["cpu_s"] / count,
            "child_us": 1e6 * report.get("child_cpu_s", 0) / count,
            "responder_us": 1e6 * cpu / count, "entries": entries / requests}


def measure(rounds, scale):
    """(who, how) -> a list of figures, one for each round."""
    found = {}
    with Responder() as responder:
        for _ in range(rounds):
            for row, (command, count) in rows(responder).items():
                taken = figures(responder, command, int(count * scale))
                found.setdefault(row, []).append(taken)
    return found


def results_of(found):
    """Ratios are weir's advantage over this row, with the same protocol."""
    results = []
    for (who, how), rounds in found.items():
        row = {name: statistics.median(taken[name] for taken in rounds) for name in rounds[0]}
        pairs = list(zip(rounds, found[("weir", how)]))
        row["faster"] = statistics.median(b["records_s"] / a["records_s"] for a, b in pairs)
        row["cheaper"] = statistics.median(a["cpu_us"] / b["cpu_us"] for a, b in pairs)
        results.append({"name": who, "over": how} | row)
    return results


def show(results):
    print(f"{'producer':10} {'over':6} {'records/s':>10} {'cpu us/record':>14} {'weir faster':>12} "
          f"{'cheaper':>8} {'responder us':>13}")
    for row in results:
        print(f"{row['name']:10} {row['over']:6} {row['records_s']:10,.0f} {row['cpu_us']:14.2f} "
              f"{row['faster']:12.1f} {row['cheaper']:8.1f} {row['responder_us']:13.2f}")


def profile(scale):
    """How weir's CPU time divides, over plain HTTP and over TLS."""
    shares = {}
    with Responder() as responder:
        for (who, how), (command, count) in rows(responder).items():
            if who == "weir":
                shares[how] = cpu_shares.measure([*command, str(int(count * scale))], ENVIRONMENT)
    return shares


def show_shares(shares):
    if not all(shares.values()):
        print("where weir's CPU time goes: not measured, because perf is missing or may not be used")
        return
    print(f"\n{'where weir spends CPU time, %':30} " + " ".join(f"{how:>6}" for how in shares))
    names = set().union(*shares.values())
    for name in sorted(names, key=lambda name: -shares["plain"].get(name, 0)):
        print(f"{name:30} " + " ".join(f"{part.get(name, 0):6.1f}" for part in shares.values()))


def verify():
    """Once, and not timed: what the producers called stored is what a consumer would be given."""
    with Responder("--verify") as responder:
        for (who, how), (command, count) in rows(responder).items():
            before = responder.stats()
            run(command, count // 20)
            after = responder.stats()
            delivered, lost = (after[name] - before[name] for name in ("delivered", "lost"))
            if delivered < count // 20 or lost:
                sys.exit(f"compare: {who} over {how}: of {count // 20} records and its warm-up "
                         f"{delivered} would be delivered, {lost} aggregates not")


def main():
    parser = argparse.ArgumentParser(prog="./dev bench kinesis")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1, help="of the number of records")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path)
    arguments = parser.parse_args()
    try:
        peers.install_all()
    except (peers.install.Failed, OSError) as failure:
        sys.exit(f"compare: {failure}")
    verify()
    results = results_of(measure(arguments.rounds, arguments.scale))
    show(results)
    shares = profile(arguments.scale)
    show_shares(shares)
    if arguments.json:
        report = {"results": results, "shares": shares}
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
