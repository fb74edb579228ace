#!/usr/bin/env python3
"""Weir beside zae-limiter 0.17.0 (Python, from PyPI): decisions on warm keys of one table.

usage: bench_fleet.py WEIR_BENCH_FLEET [--decisions N] [--load WORKERS/KEYS]... [--rounds N]
                      [--json FILE]

Both work on the same dynoxide in the same run, in turn, each on keys of its own, with so many
decisions at once, one a worker. Told is the CPU time of the client's process (user and system, all
threads) for each decision, once it is warm: medians of the rounds. tests/engines/install.py installs
engine and peer.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True  # the sources stay as they are
HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent.parent / "tests" / room) for room in ("engines", "interop")]
import engine  # noqa: E402
import fault_proxy  # noqa: E402
import sides  # noqa: E402

TABLE = "fleet"
# Enough, and never full: each decision takes more than comes back meanwhile.
PLENTY = {"name": "rpm", "capacity": 10_000_000, "refill_amount": 1, "refill_period_seconds": 1}
FEW = 200  # decisions whose requests are counted


def clients(program):
    """name -> command for an endpoint, a number of decisions, and how many at once."""
    def weir(url, *numbers):
        return [program, f"dynamodb://{TABLE}?endpoint={url}&region=us-east-1",
                *map(str, numbers)]

    def peer(kind):
        return lambda url, *numbers: [engine.PYTHON, HERE / "peer_decide.py", kind, TABLE,
                                      *map(str, numbers)]

    return {"weir": weir, "zae-limiter": peer("sync"), "zae-limiter async": peer("async")}


def run(client, running, url, count, load):
    environment = running.environment() | {"AWS_ENDPOINT_URL_DYNAMODB": url}
    command = client(url, count, *load)
    done = subprocess.run(command, env=environment, text=True, check=False, stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"bench_fleet: {command[0]} failed")
    return json.loads(done.stdout)


def requests_for_each(client, running, load):
    """What is asked of the engine by so many decisions more, warm-up and start left out."""
    with fault_proxy.FaultProxy(running) as proxy:
        counts = []
        run(client, running, proxy.url, load[0], load)  # makes the buckets
        proxy.take_counts()
        for decisions in (load[0], load[0] + FEW):
            run(client, running, proxy.url, decisions, load)
            told = proxy.take_counts()
            counts.append({name: n for name, n in told.items() if name not in ("peak", "turns")})
    return {name: (n - counts[0].get(name, 0)) / FEW for name, n in counts[1].items()}


def measure(running, named, load, decisions, rounds):
    """name -> CPU microseconds for each decision, of each round."""
    figures = {}
    for _ in range(rounds):
        for name, client in named.items():
            told = run(client, running, running.url, decisions, load)
            figures.setdefault(name, []).append(told["cpu_s"] * 1e6 / told["decisions"])
    return figures


def results_of(figures, load, asked):
    """The ratio is the median of the rounds' ratios: a machine that slows down slows both."""
    return [{"name": name, "workers": load[0], "keys": load[1],
             "cpu_us": statistics.median(rounds),
             "ratio": statistics.median(theirs / ours for theirs, ours
                                        in zip(rounds, figures["weir"])),
             "requests": asked[name]} for name, rounds in figures.items()]


def compare(named, load, arguments):
    """On an engine of its own: it becomes slower with each decision that it has taken."""
    with engine.Dynoxide() as running:
        peer = sides.Peer(running, TABLE)
        peer("create")
        peer.set_limits("resource:llm", PLENTY)
        peer.close()
        asked = {name: requests_for_each(client, running, load) for name, client in named.items()}
        figures = measure(running, named, load, arguments.decisions, arguments.rounds)
    return results_of(figures, load, asked)


def show(results):
    print(f"{'client':18} {'at once':>7} {'keys':>4} {'cpu us/decision':>16} {'to weir':>8}  "
          "requests for each")
    for row in results:
        requests = ", ".join(f"{name} {n:.2f}" for name, n in row["requests"].items() if n)
        print(f"{row['name']:18} {row['workers']:7} {row['keys']:4} {row['cpu_us']:16.1f} "
              f"{row['ratio']:8.1f}  {requests}")


def load_of(text):
    workers, keys = map(int, text.split("/"))
    return workers, keys


def main():
    parser = argparse.ArgumentParser(prog="bench_fleet.py")
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--decisions", type=int, default=2000)
    parser.add_argument("--load", type=load_of, action="append")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path)
    arguments = parser.parse_args()
    named = clients(arguments.program)
    results = []
    for load in arguments.load or [(1, 1), (8, 1), (8, 8)]:
        results += compare(named, load, arguments)
    show(results)
    if arguments.json:
        arguments.json.write_text(json.dumps({"results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
