"""Processes of `weir aggregate`, and the usage that they have counted, as each side reads it.

Usage is a Counter: (entity, resource, type of window, start of the window, limit) -> tokens.
"""

import collections
import json
import signal
import subprocess

from journal import WINDOWS
from sides import engine

DRAIN_SECONDS = 60


class Aggregator:
    """A process of `weir aggregate`."""

    def __init__(self, weir):
        self.process = engine.start(
            [*map(str, weir.command), "aggregate", "--windows", ",".join(WINDOWS)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=weir.environment)

    def kill(self):
        """By SIGKILL."""
        if self.process.poll() is not None:
            raise AssertionError(f"weir aggregate ended by itself: {self.process.communicate()}")
        self.process.kill()
        self.process.communicate()

    def drain(self):
        """By SIGTERM. Returns its counts."""
        self.process.terminate()
        out, errors = self.process.communicate(timeout=DRAIN_SECONDS)
        if self.process.returncode != 0:
            raise AssertionError(f"weir aggregate: exit code {self.process.returncode}: {errors}")
        return json.loads(out)

    def close(self):
        self.process.kill()
        self.process.communicate()


def sums(usage):
    """(entity, resource, type of window, limit) -> tokens of all windows of this type."""
    total = collections.Counter()
    for (entity, resource, window, _, limit), tokens in usage.items():
        total[entity, resource, window, limit] += tokens
    return total


def differences(got, wanted):
    """Key of either Counter -> both values, if they differ."""
    return {key: (got[key], wanted[key]) for key in sorted(got.keys() | wanted.keys())
            if got[key] != wanted[key]}


def by_peer(peer, entity, resource):
    return usage_of(peer("usage", entity, resource)["by_entity"])


def usage_of(snapshots):
    """Of zae-limiter."""
    usage = collections.Counter()
    for one in snapshots:
        for limit, tokens in one["counters"].items():
            usage[one["entity_id"], one["resource"], one["window_type"], one["window_start"],
                  limit] += tokens
    return usage


def difference_of_peer(peer, entity, resource):
    """None if zae-limiter lists the same by the entity and by the resource, and its summaries are
    those of the lists. No process may be counting."""
    read = peer("usage", entity, resource)
    lists = [sorted(read[name], key=lambda one: (one["window_type"], one["window_start"]))
             for name in ("by_entity", "by_resource")]
    if lists[0] != lists[1]:
        return f"zae-limiter's lists differ: {lists}"
    for window, summary in read["summaries"].items():
        listed = [one for one in lists[0] if one["window_type"] == window]
        starts = [one["window_start"] for one in listed]
        total = {limit: tokens for (*_, limit), tokens in sums(usage_of(listed)).items()}
        shown = [summary[name] for name in
                 ("snapshot_count", "total", "min_window_start", "max_window_start")]
        if shown != [len(starts), total, min(starts, default=None), max(starts, default=None)]:
            return f"zae-limiter's summary {summary} of {listed}"
    return None


def by_weir(weir, entity, resource):
    """Fails if the summaries are not those of the list. No process may be counting."""
    words = ("-e", entity, "-r", resource)
    usage = collections.Counter()
    for one in weir("usage", "list", *words, "-n", 1000)["usage"]:
        start = one["start"].replace(".000Z", "Z")
        for limit, tokens in one["used"].items():
            usage[one["entity"], one["resource"], one["window"], start, limit] += tokens
    for window in WINDOWS:
        summary = weir("usage", "summary", *words, "-w", window)
        total = {limit["name"]: limit["used"] for limit in summary["limits"]}
        wanted = {limit: tokens for (*_, of, limit), tokens in sums(usage).items() if of == window}
        if total != wanted:
            raise AssertionError(f"weir's summary {summary} of {usage}")
    return usage
