#!/usr/bin/env python3
"""The size of a bucket's item on dynoxide, and the cost of a write, under 100 adjusts a second.

usage: adjusts_test.py WEIR [SECONDS]

SECONDS (10) is for how long sixteen processes together make 100 decisions a second, each with an
adjust, on one bucket with two limits.
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the sources stay as they are
import engine  # noqa: E402

PROCESSES, RATE = 16, 6.25  # decisions a second of each process
TABLE, ENTITY, RESOURCE = "adjusts", "acme", "llm"
AMOUNTS, CORRECTIONS = {"rpm": 2, "tpm": 500}, {"rpm": -1, "tpm": 70}
LIMITS = ["rpm:1000000/day", "tpm:100000000/day"]
LARGEST_ITEM = 1024  # bytes: one write unit, and one more for its copy in GSI2
WRITE_UNITS = 2
SAMPLE_SECONDS = 0.1


def number_size(text):
    """DynamoDB's rule: a byte for each two significant digits, and one; at most 21."""
    digits = text.lstrip("-").replace(".", "").strip("0")
    return min(21, math.ceil(len(digits) / 2) + 1 + text.startswith("-"))


def size_of(item):
    """Bytes of an item, of names and values of types S, N, B (in base64) and BOOL."""
    sizes = {"S": lambda text: len(text.encode()), "N": number_size,
             "B": lambda text: len(text) * 3 // 4, "BOOL": lambda _: 1}
    return sum(len(name) + sizes[kind](content)
               for name, value in item.items() for kind, content in value.items())


def bucket_items(running):
    scanned = engine.call_dynamodb(running.url, "Scan", {"TableName": TABLE})["Items"]
    return [item for item in scanned if f"/BUCKET#{ENTITY}#{RESOURCE}#" in item["PK"]["S"]]


def write_units(running, item):
    """Units that the engine charges for a write on the item and its indexes; None: not reported."""
    answer = engine.call_dynamodb(running.url, "UpdateItem", {
        "TableName": TABLE,
        "Key": {key: item[key] for key in ("PK", "SK")},
        "UpdateExpression": "ADD b_wcu_tc :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}}, "ReturnConsumedCapacity": "INDEXES"})
    return answer.get("ConsumedCapacity", {}).get("CapacityUnits")


class Load:
    """The processes, and the answers that they got."""

    def __init__(self, running, store, seconds, folder):
        self.journals = [folder / str(number) for number in range(PROCESSES)]
        words = [f"{name}={amount}" for name, amount in AMOUNTS.items()]
        corrections = [f"--adjust={name}={amount}" for name, amount in CORRECTIONS.items()]
        self.processes = [
            engine.start([*store, "load", ENTITY, RESOURCE, *words, *corrections, "--rate",
                          str(RATE), "--duration", f"{seconds}s", "--acknowledged", journal],
                         stdout=subprocess.PIPE, text=True, env=running.environment())
            for journal in self.journals]

    def is_running(self):
        return any(process.poll() is None for process in self.processes)

    def reports(self):
        return [json.loads(process.communicate()[0]) for process in self.processes]

    def answered(self, limit):
        """Takes and adjusts together, in tokens."""
        total = 0
        for journal in self.journals:
            for line in journal.read_text().splitlines():
                words = (word.partition("=") for word in line.split()[4:])
                total += sum(int(amount) for name, _, amount in words if name == limit)
        return total


def check(seconds, running, reports, load, largest):
    problems = [f"errors: {report}" for report in reports if report["errors"] > 0]
    items = bucket_items(running)
    adjusts = sum(report["store_requests"]["adjust"] for report in reports)
    if adjusts < 0.5 * PROCESSES * RATE * seconds:
        problems.append(f"{adjusts} adjusts in {seconds} s: the machine is too slow for this test")
    for limit in AMOUNTS:
        stored = sum(int(item[f"b_{limit}_tc"]["N"]) for item in items) / 1000
        if stored != load.answered(limit):
            problems.append(f"{limit}: answers of {load.answered(limit)} tokens, the table has "
                            f"{stored}")
    if size_of(largest) > LARGEST_ITEM:
        problems.append(f"an item of {size_of(largest)} bytes, of at most {LARGEST_ITEM}; it has "
                        f"{len(largest)} attributes, the last are {sorted(largest)[-3:]}")
    units = [write_units(running, item) for item in items]
    if any(unit is not None and unit > WRITE_UNITS for unit in units):
        problems.append(f"a write costs {units} units, of at most {WRITE_UNITS}")
    print(f"{adjusts} adjusts in {seconds} s, largest item {size_of(largest)} bytes, write units "
          f"{units}, shards {len(items)}")
    return problems


def main(weir, seconds):
    with engine.Dynoxide() as running, tempfile.TemporaryDirectory() as folder:
        store = [weir, "--json", "--store",
                 f"dynamodb://{TABLE}?endpoint={running.url}&region=us-east-1&namespace=default"]
        for words in (["table", "create"], ["namespace", "register", "default"],
                      ["resource", "set-limits", RESOURCE, "-l", LIMITS[0], "-l", LIMITS[1]]):
            subprocess.run([*store, *words], check=True, stdout=subprocess.DEVNULL,
                           env=running.environment())
        load = Load(running, store, seconds, pathlib.Path(folder))
        largest = {}
        while load.is_running():
            largest = max([largest, *bucket_items(running)], key=size_of)
            time.sleep(SAMPLE_SECONDS)
        problems = check(seconds, running, load.reports(), load, largest)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if sys.argv[2:] else 10))
