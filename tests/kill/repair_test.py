#!/usr/bin/env python3
"""Ends `weir store repair` before each call that changes a file, and repairs again.

usage: repair_test.py WEIR EXIT_AT_CALL_LIBRARY

The damaged file has a write-ahead log, as a kill left it. Wherever the repair ends: what opens then
has forgotten nothing, or is refused and names the repair; the next repair succeeds, saves what the
first would have saved, and the damaged original is kept.
"""

import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the sources stay as they are
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import Failed, expect, wait_for_bytes  # noqa: E402

ENDED_THERE = 99
MOST_CALLS = 2000


class Store:
    def __init__(self, weir, folder):
        self.weir = weir
        self.folder = folder
        self.path = folder / "weir.db"

    def run(self, *words, **environment):
        return subprocess.run([self.weir, "--store", f"sqlite:{self.path}", *words], text=True,
                              capture_output=True, check=False, env={**os.environ, **environment})

    def must(self, *words):
        done = self.run(*words)
        expect(done.returncode == 0, f"{words}: {done.returncode} {done.stderr}")
        return done.stdout

    def copy(self, folder):
        shutil.copytree(self.folder, folder)
        return Store(self.weir, folder)

    def consumed(self):
        shown = json.loads(self.must("--json", "buckets", "user-1"))
        return shown["buckets"][0]["limits"][0]["consumed"]


def make_damaged(store):
    """One row that does not read, and a log of changes that a kill left."""
    store.must("resource", "set-limits", "llm", "-l", "rpm:1000000000/day")
    store.must("entity", "create", "acme", "--name", "Acme")
    store.must("try", "user-1", "llm", "rpm=1")
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE entity SET metadata = '{'")
    connection.close()
    acknowledged = store.folder / "acks"
    load = subprocess.Popen([store.weir, "--store", f"sqlite:{store.path}", "load", "user-1", "llm", "rpm=1",
                             "--rate", "2000", "--duration", "1h", "--acknowledged", str(acknowledged)],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_bytes(acknowledged, 2000, load)
    load.send_signal(signal.SIGKILL)
    load.wait()
    expect(store.path.with_name("weir.db-wal").stat().st_size > 0, "no write-ahead log is left")


def check_cut_off(store, consumed):
    """What the end of a repair left, looked at in a copy of its own."""
    shown = store.run("--json", "buckets", "user-1")
    if shown.returncode != 0:
        expect("weir store repair" in shown.stderr, shown.stderr)
    else:
        limits = json.loads(shown.stdout)["buckets"][0]["limits"]
        expect(limits[0]["consumed"] == consumed, f"{limits} of {consumed}")


def is_repaired(done):
    """A repair ends with 1 if a part of the file is lost; one that had only to be completed finds a
    sound file."""
    return done.returncode == 0 or "is repaired, but lacks" in done.stderr


def check_repaired(store, original, consumed):
    done = store.run("store", "repair")
    expect(is_repaired(done), f"{done.returncode} {done.stderr}")
    store.must("store", "check")
    expect(store.consumed() == consumed, f"{store.consumed()} of {consumed} are consumed")
    kept = [path for path in store.folder.glob("weir.db-damaged-*") if not path.name.endswith("-wal")]
    whole = [path for path in kept
             if path.read_bytes() == original.path.read_bytes()
             and pathlib.Path(f"{path}-wal").exists()
             and pathlib.Path(f"{path}-wal").read_bytes()
             == original.path.with_name("weir.db-wal").read_bytes()]
    expect(whole, f"the damaged file is not among {kept}")
    left = [path.name for path in store.folder.glob("weir.db-repair*")]
    expect(not left, f"left: {left}")


def end_before_each_call(weir, library, folder):
    original = Store(weir, folder / "original")
    original.folder.mkdir()
    make_damaged(original)
    consumed = original.copy(folder / "before").consumed()
    expect(consumed > 20, f"{consumed}")
    for call in range(1, MOST_CALLS):
        store = original.copy(folder / str(call))
        ended = store.run("store", "repair", LD_PRELOAD=library, EXIT_AT_CALL=str(call))
        if is_repaired(ended):
            check_repaired(store, original, consumed)
            return call - 1
        try:
            expect(ended.returncode == ENDED_THERE, f"{ended.returncode} {ended.stderr}")
            check_cut_off(store.copy(folder / f"{call}-seen"), consumed)
            check_repaired(store, original, consumed)
        except Failed as problem:
            raise Failed(f"ended before call {call}: {problem}") from problem
        shutil.rmtree(folder / str(call))
        shutil.rmtree(folder / f"{call}-seen")
    raise Failed(f"more than {MOST_CALLS} calls")


def main():
    weir, library = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        try:
            calls = end_before_each_call(weir, library, pathlib.Path(folder))
        except Failed as problem:
            print(f"FAILED  {problem}")
            return 1
    if calls < 20:
        print(f"FAILED  only {calls} calls were seen")
        return 1
    print(f"ok      a repair that ends before any of its {calls} calls")
    return 0


if __name__ == "__main__":
    sys.exit(main())
