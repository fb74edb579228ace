#!/usr/bin/env python3
"""Compares the usage that a file counts during a replay with the sums of the replay's log.

usage: usage_test.py WEIR TRACE LIMITS
"""

import collections
import csv
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile


def start_of(window, t_ms):
    time = datetime.datetime.fromtimestamp(t_ms / 1000, datetime.timezone.utc)
    time = time.replace(minute=0, second=0, microsecond=0)
    if window != "hourly":
        time = time.replace(hour=0)
    if window == "monthly":
        time = time.replace(day=1)
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def sums_of(log):
    """The whole tokens, by (entity, window, start, limit), and the events."""
    used = collections.Counter()
    events = collections.Counter()
    with open(log, newline="") as file:
        for row in csv.DictReader(file):
            amount = round(float(row["amount"]) * 1000)
            if row["outcome"] not in ("admitted", "done") or amount == 0:
                continue
            for window in ("hourly", "daily", "monthly"):
                key = (row["entity"], window, start_of(window, int(row["t_ms"])))
                used[key + (row["limit"],)] += amount
                events[key] += 1
    assert all(amount % 1000 == 0 for amount in used.values()), "the trace has whole tokens"
    return {key: amount // 1000 for key, amount in used.items() if amount}, events


def usage_of(weir, store):
    used = {}
    events = {}
    cursor = []
    while True:
        page = json.loads(subprocess.run(
            [weir, "--store", store, "usage", "list", "-r", "llm", "-n", "50", "--json", *cursor],
            check=True, capture_output=True, text=True).stdout)
        for one in page["usage"]:
            key = (one["entity"], one["window"], one["start"])
            assert key not in events, f"{key} is listed twice"
            events[key] = one["events"]
            for limit, tokens in one["used"].items():
                used[key + (limit,)] = tokens
        if "next" not in page:
            return used, events
        cursor = ["--after", page["next"]]


def main():
    weir, trace, limits = (str(pathlib.Path(path).absolute()) for path in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        store, log = f"sqlite:{folder}/replay.db", f"{folder}/log.csv"
        subprocess.run([weir, "--store", store, "replay", trace, "--limits", limits, "--log", log],
                       check=True, capture_output=True)
        used, events = sums_of(log)
        found_used, found_events = usage_of(weir, store)
    assert len(events) > 20, f"only {len(events)} windows"
    assert found_used == used, {key: (used.get(key), found_used.get(key))
                                for key in used.keys() | found_used.keys()
                                if used.get(key) != found_used.get(key)}
    assert found_events == dict(events)
    print(f"{len(events)} windows agree")


if __name__ == "__main__":
    main()
