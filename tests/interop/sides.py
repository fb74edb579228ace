"""Both sides as a test drives them, on one table of one running engine: processes that have been
running for a while (Peer, WeirProcess) and the command line (Weir); and the table itself."""

import collections
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "engines"))
import engine  # noqa: E402

MILLI = 1000


class Answer(dict):
    """Of a take."""

    def __bool__(self):
        return self["admitted"]


class Served:
    """A process that answers lines of words by lines of JSON."""

    def __init__(self, command, environment):
        self.process = engine.start([*map(str, command)], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, text=True, env=environment)

    def __call__(self, *words):
        self.process.stdin.write(json.dumps([*map(str, words)]) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "it has ended"}')
        if isinstance(answer, dict) and "error" in answer:
            raise AssertionError(f"{self} {words}: {answer['error']}")
        return answer

    def take(self, entity, resource, **amounts):
        return Answer(self("take", entity, resource, *words_of(amounts)))

    def end(self, answer, **amounts):
        self("end", answer["lease"], *words_of(amounts))

    def cancel(self, answer):
        self("cancel", answer["lease"])

    def kill(self):
        """By SIGKILL."""
        self.process.kill()
        self.process.communicate()

    def close(self):
        if self.process.poll() is None:
            self.process.communicate()


class Peer(Served):
    """zae-limiter."""

    def __init__(self, running, table):
        super().__init__([engine.PYTHON, "-B", HERE / "peer.py", table], running.environment())

    def __str__(self):
        return "zae-limiter"

    def set_limits(self, level, *limits):
        self("limits", level, json.dumps(limits))

    def delete_limits(self, level):
        self("unlimit", level)


class WeirProcess(Served):
    """A limiter of Weir."""

    def __init__(self, running, driver, table):
        super().__init__([driver, weir_url(running, table)], running.environment())

    def __str__(self):
        return "weir"


class Weir:
    """The command line: a new process for each command."""

    def __init__(self, running, weir, table):
        self.environment = running.environment()
        self.command = [weir, "--json", "--store", weir_url(running, table)]

    def __str__(self):
        return "weir"

    def run(self, *words):
        return subprocess.run([*self.command, *map(str, words)], text=True, capture_output=True,
                              check=False, env=self.environment)

    def __call__(self, *words):
        done = self.run(*words)
        if done.returncode != 0:
            raise AssertionError(f"weir {words}: exit code {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def limits(self, *level):
        return self(level[0], "get-limits", *level[1:])["limits"]

    def set_limits(self, level, *limits):
        specs = (["-l", f"{limit['name']}:{limit['refill_amount']}/{limit['refill_period_seconds']}"
                        f"s:{limit['capacity']}"] for limit in limits)
        self(*level_words(level, "set-limits"), *sum(specs, []))

    def delete_limits(self, level):
        self(*level_words(level, "delete-limits"))

    def consumed(self, entity, resource):
        """limit -> tokens, of all shards."""
        return self.sum_of("consumed", entity, resource)

    def available(self, entity, resource):
        """limit -> tokens, of all shards."""
        return self.sum_of("tokens", entity, resource)

    def sum_of(self, what, entity, resource):
        tokens = collections.Counter()
        for bucket in self("buckets", entity, "--resource", resource)["buckets"]:
            for limit in bucket["limits"]:
                tokens[limit["name"]] += float(limit[what])
        return dict(tokens)


def weir_url(running, table):
    return f"dynamodb://{table}?endpoint={running.url}&region=us-east-1&namespace=default"


def level_words(level, verb):
    kind, *names = level.split(":")
    return [kind, verb, *names[:1], *(["-r", names[1]] if names[1:] else [])]


def words_of(amounts):
    return [f"{name}={amount}" for name, amount in amounts.items()]


def limit(name, capacity, refill_amount, refill_period_seconds):
    """As both sides' set_limits takes it."""
    return {"name": name, "capacity": capacity, "refill_amount": refill_amount,
            "refill_period_seconds": refill_period_seconds}


def daily(name, tokens):
    """A limit that gains next to nothing during a test."""
    return limit(name, tokens, tokens, 86_400)


class StoredBucket:
    """The items of one bucket as the table holds them."""

    def __init__(self, running, table, entity, resource):
        self.running, self.table = running, table
        self.key = f"/BUCKET#{entity}#{resource}#"

    def shards(self):
        """shard -> attributes, without their types."""
        return {int(item["PK"]["S"].rpartition("#")[2]):
                {name: plain(value) for name, value in item.items()}
                for item in all_items(self.running, self.table)
                if self.key in item["PK"]["S"] and item["SK"]["S"] == "#STATE"}

    def sum_of(self, limit_name, field):
        """Of all shards, in whole and thousandth tokens; None if no shard has the attribute."""
        values = [item.get(f"b_{limit_name}_{field}") for item in self.shards().values()]
        there = [value for value in values if value is not None]
        return sum(there) / MILLI if there else None

    def consumed(self, limit_name):
        return self.sum_of(limit_name, "tc")

    def tokens(self, limit_name):
        return self.sum_of(limit_name, "tk")

    def quotas(self, limit_name):
        """(capacity, refill amount, period in s) as each shard holds them, without repetitions."""
        return {tuple(item[name] / MILLI if name in item else None
                      for name in (f"b_{limit_name}_{field}" for field in ("cp", "ra", "rp")))
                for item in self.shards().values()}

    def set(self, shard, **attributes):
        """Sets attributes to numbers. Neither side sees this as a write of its own."""
        namespace = next(iter(self.shards().values()))["PK"].partition("/")[0]
        engine.call_dynamodb(self.running.url, "UpdateItem", {
            "TableName": self.table,
            "Key": {"PK": {"S": f"{namespace}{self.key}{shard}"}, "SK": {"S": "#STATE"}},
            "UpdateExpression": "SET " + ", ".join(f"{name} = :{name}" for name in attributes),
            "ExpressionAttributeValues": {f":{name}": {"N": str(value)}
                                          for name, value in attributes.items()}})

    def __str__(self):
        """For messages of failures."""
        kept = ("b_", "rf", "vu", "ttl", "shard_count", "w_")
        lines = (f"shard {shard}: " + " ".join(
            f"{name}={value}" for name, value in sorted(item.items()) if name.startswith(kept))
            for shard, item in sorted(self.shards().items()))
        return "the table holds " + ("; ".join(lines) or "no bucket")


def plain(value):
    (kind, content), = value.items()
    return int(content) if kind == "N" else content


def all_items(running, table):
    """The table as it is stored, for a comparison."""
    items, start = [], {}
    while True:
        page = engine.call_dynamodb(running.url, "Scan", {"TableName": table, **start})
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return sorted(items, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
