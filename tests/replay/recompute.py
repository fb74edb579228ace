#!/usr/bin/env python3
"""Recomputes every decision of a replay from its log and its limits file, in exact fractions.

usage: recompute.py LIMITS LOG [--trace TRACE --estimate TOKENS [--strategy estimate|actual]]

Shares no code with the program under test. Reads the limits file (YAML, short texts too), finds for
each tenant which limits hold and which entities above it are charged, follows the log with a
balance for each limit, and exits 1 at the first operation that is not as computed, naming its first
line: an outcome, an amount in one bucket and not in the other, a balance, an order. With --trace it also holds the log against
the trace: each row asked once, at its time, for its tokens, and adjusted when they were generated.

The rules it recomputes by are written in docs/design/replay.md and docs/design/bucket.md.
"""

import argparse
import csv
import itertools
import re
import sys
from datetime import datetime, timezone
from fractions import Fraction

import yaml

MILLIS = {"sec": 1000, "min": 60_000, "hour": 3_600_000, "day": 86_400_000}
SHORT = re.compile(r"^([0-9.]+)(?:/([0-9]*)(sec|min|hour|day))?(?::([0-9.]+))?$")
RESOURCE = "llm"
MILLIS_A_TOKEN = 20
LEVELS = 8


class Wrong(Exception):
    pass


class Limit:
    """Tokens and milliseconds, exact."""

    def __init__(self, declared):
        if isinstance(declared, dict):
            amount = declared.get("refill_amount", declared["capacity"])
            capacity = declared.get("burst", declared["capacity"])
            period = Fraction(str(declared.get("refill_period", 60))) * 1000
        else:
            rate, count, unit, burst = SHORT.match(str(declared)).groups()
            amount, capacity = rate, burst or rate
            period = int(count or 1) * MILLIS[unit or "min"]
        self.capacity = Fraction(str(capacity))
        self.rate = Fraction(str(amount)) / period


class Bucket:
    """The limits of one entity on the resource. A limit that was never used is full."""

    def __init__(self, entity, limits):
        self.entity = entity
        self.limits = limits
        self.balance = {name: limit.capacity for name, limit in limits.items()}
        self.time = None

    def refill(self, now):
        if self.time is not None and now > self.time:
            for name, limit in self.limits.items():
                refilled = self.balance[name] + limit.rate * (now - self.time)
                self.balance[name] = min(limit.capacity, refilled)
        self.time = now if self.time is None else max(self.time, now)

    def has(self, amounts):
        return all(amounts.get(name, 0) == 0 or self.balance[name] >= amounts[name]
                   for name in self.limits)

    def charge(self, amounts):
        for name, limit in self.limits.items():
            self.balance[name] = min(limit.capacity, self.balance[name] - amounts.get(name, 0))


class Declared:
    """The limits file, and the buckets of whoever asked so far."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.file = yaml.safe_load(file)
        self.buckets = {}

    def limits_of(self, entity):
        """The nearest level holds as a whole: entity, entity's default, resource, system."""
        own = (self.file.get("entities", {}).get(entity) or {}).get("resources") or {}
        for level in (own.get(RESOURCE), own.get("_default_"),
                      self.file.get("resources", {}).get(RESOURCE), self.file.get("system")):
            if level and level.get("limits"):
                return {name: Limit(text) for name, text in level["limits"].items()}
        return None

    def bucket(self, entity):
        if entity not in self.buckets:
            limits = self.limits_of(entity)
            self.buckets[entity] = Bucket(entity, limits) if limits else None
        return self.buckets[entity]

    def charged_by(self, entity):
        """The entity's own bucket, its parent's, and so on, while `cascade` says so."""
        chain = []
        for _ in range(LEVELS):
            if self.bucket(entity):
                chain.append(self.bucket(entity))
            declaration = self.file.get("entities", {}).get(entity) or {}
            if not declaration.get("cascade") or not declaration.get("parent"):
                break
            entity = declaration["parent"]
        return chain


def floor_to_thousandths(value):
    thousandths = value.numerator * 1000 // value.denominator
    sign = "-" if thousandths < 0 else ""
    return f"{sign}{abs(thousandths) // 1000}.{abs(thousandths) % 1000:03}"


def expect(what, expected, actual):
    if expected != actual:
        raise Wrong(f"{what}: computed {expected}, logged {actual}")


def amounts_of(lines, chain):
    """What was asked of each limit: the same in every bucket that has the limit."""
    amounts = {}
    for line in lines:
        value = Fraction(line["amount"])
        expect(f"amount of {line['limit']}", amounts.setdefault(line["limit"], value), value)
    expect("buckets and limits",
           [(bucket.entity, name) for bucket in chain for name in bucket.limits],
           [(line["entity"], line["limit"]) for line in lines])
    return amounts


def outcome_of(op, chain, amounts):
    if op == "adjust":
        return "done"
    for bucket in chain:
        if any(amounts[name] > limit.capacity for name, limit in bucket.limits.items()):
            return "impossible"
    return "admitted" if all(bucket.has(amounts) for bucket in chain) else "refused"


def recompute(declared, lines):
    """One operation: all its lines. Returns (time, row, op, outcome, amounts)."""
    first = lines[0]
    now, op = int(first["t_ms"]), first["op"]
    expect("resource", {RESOURCE}, {line["resource"] for line in lines})
    chain = declared.charged_by(first["entity"])
    amounts = amounts_of(lines, chain)
    for bucket in chain:
        bucket.refill(now)
    outcome = outcome_of(op, chain, amounts)
    expect("outcome", {outcome}, {line["outcome"] for line in lines})
    if outcome in ("admitted", "done"):
        for bucket in chain:
            bucket.charge(amounts)
    balances = [floor_to_thousandths(bucket.balance[name])
                for bucket in chain for name in bucket.limits]
    expect("balance", balances, [line["balance"] for line in lines])
    return now, int(first["seq"]), op, outcome, amounts


def order_of(operation):
    now, row, op, _, _ = operation
    return now, row, op != "take"


def read_trace(path):
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            # Seven decimals are more than datetime reads; what is beyond milliseconds is dropped.
            text, _, fraction = row["TIMESTAMP"].partition(".")
            at = datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=timezone.utc)
            yield (int(at.timestamp()) * 1000 + int(fraction[:3]), int(row["ContextTokens"]),
                   int(row["GeneratedTokens"]))


def against_trace(operations, rows, estimate):
    """`estimate` is None where what was generated is taken at once."""
    takes = {row: operation for operation in operations for row in [operation[1]]
             if operation[2] == "take"}
    adjusts = {operation[1]: operation for operation in operations if operation[2] == "adjust"}
    expect("rows asked", list(range(1, len(rows) + 1)), sorted(takes))
    expect("operations", len(takes) + len(adjusts), len(operations))
    for number, (at, context, generated) in enumerate(rows, 1):
        guess = generated if estimate is None else estimate
        now, _, _, outcome, amounts = takes[number]
        expect(f"time of row {number}", at, now)
        expect(f"amounts of row {number}", (1, context + guess), (amounts["rpm"], amounts["tpm"]))
        due = outcome == "admitted" and generated != guess
        expect(f"row {number} is adjusted", due, number in adjusts)
        if due:
            now, _, _, _, amounts = adjusts[number]
            expect(f"time of the adjust of row {number}", at + MILLIS_A_TOKEN * generated, now)
            expect(f"adjust of row {number}", (0, generated - guess),
                   (amounts["rpm"], amounts["tpm"]))


def run(options):
    declared = Declared(options.limits)
    operations = []
    with open(options.log, encoding="utf-8", newline="") as file:
        number = 2
        key = lambda line: (line["t_ms"], line["seq"], line["op"])
        for _, group in itertools.groupby(csv.DictReader(file), key):
            lines = list(group)
            try:
                operations.append(recompute(declared, lines))
            except Wrong as wrong:
                raise Wrong(f"{options.log}:{number}: {wrong}") from None
            if len(operations) > 1 and order_of(operations[-2]) >= order_of(operations[-1]):
                raise Wrong(f"{options.log}:{number}: out of order")
            number += len(lines)
    if options.trace:
        estimate = None if options.strategy == "actual" else options.estimate
        against_trace(operations, list(read_trace(options.trace)), estimate)
    return operations


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("limits")
    parser.add_argument("log")
    parser.add_argument("--trace")
    parser.add_argument("--estimate", type=int, default=256)
    parser.add_argument("--strategy", choices=("estimate", "actual"), default="estimate")
    try:
        operations = run(parser.parse_args())
    except Wrong as wrong:
        print(wrong, file=sys.stderr)
        return 1
    admitted = sum(operation[3] == "admitted" for operation in operations)
    print(f"recomputed {len(operations)} operations, {admitted} admitted: all as logged")
    return 0 if operations else 1


if __name__ == "__main__":
    sys.exit(main())
