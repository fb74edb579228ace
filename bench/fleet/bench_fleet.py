#!/usr/bin/env python3
"""Weir beside zae-limiter 0.17.0 (Python, from PyPI): decisions on warm keys of one table.

usage: bench_fleet.py WEIR_BENCH_FLEET [--decisions N] [--load CALLERS:AT_ONCE/KEYS]...
                      [--rounds N] [--json FILE]

Both run in turn, each on a dynoxide that has just been started. CALLERS is
"blocking" (AT_ONCE callers that wait for each decision) or "callbacks" (AT_ONCE requests in flight
through the asynchronous API). If there are at least as many keys as callers, no two callers share
one. The output shows the CPU time of the client's process (user and system, all threads) for each
decision, once the process is warm: medians of the rounds. tests/engines/install.py installs engine
and peer.
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import typing

sys.dont_write_bytecode = True  # the sources stay as they are
HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent.parent / "tests" / folder) for folder in ("engines", "interop")]
import engine  # noqa: E402
import fault_proxy  # noqa: E402
import sides  # noqa: E402

TABLE = "fleet"
# Enough, and never full: each decision takes more than comes back meanwhile.
PLENTY = {"name": "rpm", "capacity": 10_000_000, "refill_amount": 1, "refill_period_seconds": 1}
FEW = 200  # decisions whose requests are counted, about


class Load(typing.NamedTuple):
    callers: str
    at_once: int
    keys: int


LOADS = [Load("blocking", 1, 1), Load("blocking", 8, 1), Load("blocking", 8, 8),
         Load("callbacks", 64, 1000)]


def clients(program, callers):
    """name -> command for an endpoint, a number of decisions, how many at once, and on how many
    keys. The first client is Weir's."""
    def weir(url, *numbers):
        return [program, f"dynamodb://{TABLE}?endpoint={url}&region=us-east-1", callers,
                *map(str, numbers)]

    def peer(kind):
        return lambda url, *numbers: [engine.PYTHON, HERE / "peer_decide.py", kind, TABLE,
                                      *map(str, numbers)]

    blocking = {"zae-limiter": peer("sync")} if callers == "blocking" else {}
    return {"weir": weir, **blocking, "zae-limiter async": peer("async")}


def run(client, running, url, count, load):
    environment = running.environment() | {"AWS_ENDPOINT_URL_DYNAMODB": url}
    command = client(url, count, load.at_once, load.keys)
    done = subprocess.run(command, env=environment, text=True, check=False, stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"bench_fleet: {command[0]} failed")
    return json.loads(done.stdout)


def requests_for_each(client, running, load):
    """Requests to the engine per decision, without those of the start and of the warm-up."""
    with fault_proxy.FaultProxy(running) as proxy:
        counts, decisions = [], []
        run(client, running, proxy.url, load.at_once, load)  # makes the buckets
        proxy.take_counts()
        for count in (load.at_once, load.at_once + FEW):
            decisions.append(run(client, running, proxy.url, count, load)["decisions"])
            seen = proxy.take_counts()
            counts.append({name: n for name, n in seen.items() if name not in ("peak", "turns")})
    return {name: (n - counts[0].get(name, 0)) / (decisions[1] - decisions[0])
            for name, n in counts[1].items()}


@contextlib.contextmanager
def engine_with_table():
    with engine.Dynoxide() as running:
        peer = sides.Peer(running, TABLE)
        peer("create")
        peer.set_limits("resource:llm", PLENTY)
        peer.close()
        yield running


def measure(named, load, decisions, rounds):
    """name -> CPU microseconds for each decision, of each round. Each client gets an engine of its
    own each time: an engine becomes slower with each decision that it has taken, and a client that
    waits longer for each response finds its caches colder."""
    figures = {}
    for _ in range(rounds):
        for name, client in named.items():
            with engine_with_table() as running:
                report = run(client, running, running.url, decisions, load)
            figures.setdefault(name, []).append(report["cpu_s"] * 1e6 / report["decisions"])
    return figures


def results_of(figures, load, asked):
    """The ratio is the median of the rounds' ratios: a machine that slows down slows both."""
    return [{"name": name, "callers": load.callers, "at_once": load.at_once, "keys": load.keys,
             "cpu_us": statistics.median(rounds),
             "ratio": statistics.median(theirs / ours for theirs, ours
                                        in zip(rounds, figures["weir"])),
             "requests": asked[name]} for name, rounds in figures.items()]


def compare(load, arguments):
    named = clients(arguments.program, load.callers)
    with engine_with_table() as running:
        asked = {name: requests_for_each(client, running, load) for name, client in named.items()}
    figures = measure(named, load, arguments.decisions, arguments.rounds)
    return results_of(figures, load, asked)


def show(results):
    print(f"{'client':18} {'callers':9} {'at once':>7} {'keys':>4} "
          f"{'cpu us/decision':>16} {'to weir':>8}  requests for each")
    for row in results:
        requests = ", ".join(f"{name} {n:.2f}" for name, n in row["requests"].items() if n)
        print(f"{row['name']:18} {row['callers']:9} {row['at_once']:7} {row['keys']:4} "
              f"{row['cpu_us']:16.1f} {row['ratio']:8.1f}  {requests}")


def load_of(text):
    callers, numbers = text.split(":")
    if callers not in ("blocking", "callbacks"):
        raise ValueError(callers)
    return Load(callers, *map(int, numbers.split("/")))


def main():
    parser = argparse.ArgumentParser(prog="bench_fleet.py")
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--decisions", type=int, default=2000)
    parser.add_argument("--load", type=load_of, action="append")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path)
    arguments = parser.parse_args()
    results = []
    for load in arguments.load or LOADS:
        results += compare(load, arguments)
    show(results)
    if arguments.json:
        arguments.json.write_text(json.dumps({"results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
