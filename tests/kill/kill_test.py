#!/usr/bin/env python3
"""Kills a loaded process at random instants, opens its file again, and compares.

usage: kill_test.py WEIR strict|relaxed [KILLS] [SEED]

`weir load --acknowledged FILE` writes a line after each answer it received. After kill -9 the
file must open, and for each entity and limit

    strict    all that was acknowledged is consumed: nothing is forgotten;
    relaxed   all that was acknowledged up to COMMIT_INTERVAL + ALLOWANCE before the kill is;
    both      nothing is consumed that was neither acknowledged nor under way: one request and one
              adjust of each worker.

Kills go on in one file or begin a new one, as the seed says. The allowance is for a machine on
which the process may stand still between a decision, its commit and its line; how old the oldest
forgotten answer really was is printed.
"""

import collections
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the sources stay as they are
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import Failed, wait_for_bytes  # noqa: E402

COMMIT_INTERVAL = 0.005
ALLOWANCE = 0.5
ENTITIES = [f"user-{i}" for i in range(1, 6)]
WORKERS = 3
TAKE = {"rpm": 1, "tpm": 10}
ADJUST = {"tpm": 3}
UNDER_WAY = {"rpm": WORKERS, "tpm": WORKERS * (TAKE["tpm"] + ADJUST["tpm"])}
# Acknowledged lines before a kill: from none to what some tenths of a second bring.
MOST_LINES = {"strict": 300, "relaxed": 20_000}


class Store:
    def __init__(self, weir, durability, folder, number):
        self.path = folder / f"{number}.db"
        self.command = [weir, "--store", f"sqlite:{self.path}", "--durability", durability]
        self.run("resource", "set-limits", "llm", "-l", "rpm:1000000000/day",
                 "-l", "tpm:1000000000/day")

    def run(self, *words):
        done = subprocess.run([*self.command, *words], text=True, capture_output=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def consumed(self):
        """(entity, limit) -> tokens, as the file has them."""
        tokens = collections.Counter()
        for entity in ENTITIES:
            for bucket in json.loads(self.run("--json", "buckets", entity))["buckets"]:
                for limit in bucket["limits"]:
                    tokens[entity, limit["name"]] += limit["consumed"]
        return tokens

    def load(self, acknowledged, seed):
        amounts = [f"{name}={amount}" for name, amount in TAKE.items()]
        adjusts = [f"--adjust={name}={amount}" for name, amount in ADJUST.items()]
        return subprocess.Popen(
            [*self.command, "load", ",".join(ENTITIES), "llm", *amounts, *adjusts,
             "--workers", str(WORKERS), "--duration", "1h", "--seed", str(seed),
             "--acknowledged", acknowledged],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def read_acknowledged(path):
    """[(seconds, entity, limit, tokens)], without a last line that has no end."""
    entries = []
    for line in path.read_text().split("\n")[:-1]:
        at, _, entity, _, *amounts = line.split(" ")
        for amount in amounts:
            name, _, tokens = amount.partition("=")
            entries.append((int(at) / 1000, entity, name, int(tokens)))
    return entries


def kill_once(store, rng, durability, acknowledged):
    """Returns the acknowledged entries and when the kill was sent."""
    lines = rng.randrange(MOST_LINES[durability])
    process = store.load(acknowledged, rng.randrange(1 << 32))
    wait_for_bytes(acknowledged, lines * len("1700158546680 take user-1 llm rpm=1 tpm=10\n"),
                   process)
    killed_at = time.time()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    return (read_acknowledged(acknowledged) if acknowledged.exists() else []), killed_at


def oldest_forgotten(entries, consumed, killed_at):
    """If what is missing is what came last: the age of the oldest answer among it, in seconds."""
    missing = collections.Counter()
    for _, entity, name, tokens in entries:
        missing[entity, name] += tokens
    missing.subtract(consumed)
    oldest = 0.0
    for at, entity, name, tokens in reversed(entries):
        if missing[entity, name] > 0:
            missing[entity, name] -= tokens
            oldest = max(oldest, killed_at - at)
    return oldest


def check(entries, consumed, killed_at, durability):
    must = collections.Counter()
    may = collections.Counter()
    certain_until = killed_at - (COMMIT_INTERVAL + ALLOWANCE if durability == "relaxed" else 0)
    for at, entity, name, tokens in entries:
        may[name] += tokens
        if durability == "strict" or at <= certain_until:
            must[entity, name] += tokens
    for key, tokens in must.items():
        if consumed[key] < tokens:
            raise Failed(f"{key} forgot {tokens - consumed[key]} of {tokens} tokens")
    for name, most in UNDER_WAY.items():
        total = sum(tokens for key, tokens in consumed.items() if key[1] == name)
        if total > may[name] + most:
            raise Failed(f"{name}: consumed {total}, acknowledged {may[name]}")


def run(weir, durability, kills, seed):
    rng = random.Random(f"{seed} {durability}")
    answers, oldest, store = 0, 0.0, None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for kill in range(kills):
            if store is None or rng.random() < 0.5:
                store = Store(weir, durability, folder, kill)
            before = store.consumed()
            entries, killed_at = kill_once(store, rng, durability, folder / f"{kill}.acks")
            consumed = store.consumed()
            consumed.subtract(before)
            try:
                check(entries, consumed, killed_at, durability)
            except Failed as failure:
                raise Failed(f"kill {kill} with seed {seed}: {failure}") from None
            answers += len(entries)
            oldest = max(oldest, oldest_forgotten(entries, consumed, killed_at))
    return answers, oldest


def main():
    weir, durability = sys.argv[1], sys.argv[2]
    kills = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    try:
        answers, oldest = run(os.path.abspath(weir), durability, kills, seed)
    except Failed as failure:
        print(failure, file=sys.stderr)
        return 1
    print(f"{durability}: {kills} kills, {answers} charges acknowledged, oldest forgotten "
          f"{oldest * 1000:.0f} ms before the kill")
    return 0


if __name__ == "__main__":
    sys.exit(main())
