#!/usr/bin/env python3
"""The real zae-limiter 0.17.0, working on a table from outside; one line of JSON for each verb.

usage: peer.py [--table NAME] [--namespace NAME] VERB ...
  create                                  the table, its version record, the namespace
  entity ENTITY [--parent P] [--cascade]  creates it
  limits LEVEL LIMITS                     sets them; LEVEL is system, resource:R, entity:E
                                          or entity:E:R; LIMITS is a list as Limit.from_dict reads
  take ENTITY RESOURCE name=amount...     one decision
  load ENTITY RESOURCE name=amount...     decisions from --threads for --seconds
  read ENTITY RESOURCE                    entity, children, limits of each level, buckets, audit
  serve                                   takes verbs as lines of JSON, lists of the words above

Runs with the Python that tests/engines/install.py made; the endpoint is AWS_ENDPOINT_URL_DYNAMODB.
"""

import argparse
import collections
import dataclasses
import json
import os
import sys
import threading
import time

for name, value in {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
                    "AWS_DEFAULT_REGION": "us-east-1"}.items():
    os.environ.setdefault(name, value)

import zae_limiter  # noqa: E402  reads the settings above
from zae_limiter import Limit, OnUnavailable, RateLimitExceeded, SyncRateLimiter, SyncRepository

PRINCIPAL = "peer"  # unnamed, the library would ask STS at the same endpoint
LONGEST_PAUSE = 0.05


def create(arguments):
    repository = SyncRepository(name=arguments.table, region="us-east-1",
                                endpoint_url=arguments.endpoint, _skip_deprecation_warning=True)
    repository.create_table()
    # With a Lambda of this release recorded, the features of every release are on.
    repository.set_version_record("0.10.0", lambda_version=zae_limiter.__version__,
                                  updated_by=PRINCIPAL)
    return {"table": arguments.table,
            "namespace_id": repository.register_namespace(arguments.namespace)}


def connect(arguments):
    return SyncRateLimiter(repository=SyncRepository.connect(
        arguments.namespace, stack=arguments.table, region="us-east-1",
        endpoint_url=arguments.endpoint))


def create_entity(arguments):
    limiter = connect(arguments)
    limiter.create_entity(arguments.entity, parent_id=arguments.parent, cascade=arguments.cascade,
                          principal=PRINCIPAL)
    return {"entity": plain(limiter.get_entity(arguments.entity))}


def set_limits(arguments):
    limiter = connect(arguments)
    limits = [Limit.from_dict(limit) for limit in json.loads(arguments.limits)]
    kind, *names = arguments.level.split(":")
    if kind == "system":
        limiter.set_system_defaults(limits, principal=PRINCIPAL)
    elif kind == "resource":
        limiter.set_resource_defaults(names[0], limits, principal=PRINCIPAL)
    else:
        limiter.set_limits(names[0], limits, *names[1:], principal=PRINCIPAL)
    return {"level": arguments.level, "limits": [limit.to_dict() for limit in limits]}


def take(arguments):
    limiter = connect(arguments)
    try:
        with limiter.acquire(arguments.entity, arguments.resource, amounts(arguments),
                             on_unavailable=OnUnavailable.BLOCK):
            return {"admitted": True}
    except RateLimitExceeded as refusal:
        return {"admitted": False, "retry_after": refusal.retry_after_seconds}


class Load:
    """What all threads did."""

    def __init__(self, limiter, arguments):
        self.limiter, self.arguments = limiter, arguments
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.calls = collections.Counter()
        self.errors = []
        self.last_ms = None
        self.until = time.monotonic() + arguments.seconds

    def count_call(self, request, **_):
        target = request.headers["X-Amz-Target"]
        text = target.decode() if isinstance(target, bytes) else target
        with self.lock:
            self.calls[text.partition(".")[2]] += 1

    def ask(self):
        """One decision; how long to wait before the next."""
        try:
            with self.limiter.acquire(self.arguments.entity, self.arguments.resource,
                                      amounts(self.arguments), on_unavailable=OnUnavailable.BLOCK):
                pass
        except RateLimitExceeded as refusal:
            with self.lock:
                self.counts["contended" if refusal.contended else "refused"] += 1
            return min(refusal.retry_after_seconds, LONGEST_PAUSE)
        except Exception as error:  # whatever it is, it is reported
            with self.lock:
                self.errors.append(f"{type(error).__name__}: {error}")
            return LONGEST_PAUSE
        with self.lock:
            self.counts["admitted"] += 1
            self.last_ms = time.time() * 1000
        return 0

    def work(self):
        while time.monotonic() < self.until:
            time.sleep(self.ask())


def load(arguments):
    limiter = connect(arguments)
    state = Load(limiter, arguments)
    limiter._repository._get_client().meta.events.register("before-send.dynamodb", state.count_call)
    first_ms = time.time() * 1000
    threads = [threading.Thread(target=state.work) for _ in range(arguments.threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    calls = dict(state.calls)
    return {"admitted": state.counts["admitted"], "refused": state.counts["refused"],
            "contended": state.counts["contended"], "errors": len(state.errors),
            "first_errors": state.errors[:3], "calls": calls, "first_ms": first_ms,
            "last_ms": state.last_ms, "buckets": buckets(limiter, arguments)}


def buckets(limiter, arguments):
    """limit -> what all shards of the bucket hold together, in millitokens as stored."""
    totals = {}
    for state in limiter._repository.get_buckets(arguments.entity):
        if state.resource != arguments.resource:
            continue
        total = totals.setdefault(state.limit_name, {
            "shards": 0, "tk": 0, "tc": 0, "cp": state.capacity_milli,
            "ra": state.refill_amount_milli, "rp": state.refill_period_ms})
        total["shards"] += 1
        total["tk"] += state.tokens_milli
        total["tc"] += state.total_consumed_milli or 0
    return totals


def read(arguments):
    limiter, entity, resource = connect(arguments), arguments.entity, arguments.resource
    system, on_unavailable = limiter.get_system_defaults()
    levels = {"system": system, f"resource:{resource}": limiter.get_resource_defaults(resource),
              f"entity:{entity}": limiter.get_limits(entity),
              f"entity:{entity}:{resource}": limiter.get_limits(entity, resource)}
    return {"entity": plain(limiter.get_entity(entity)),
            "children": sorted(child.id for child in limiter.get_children(entity)),
            "on_unavailable": on_unavailable.value if on_unavailable else None,
            "limits": {level: sorted((limit.to_dict() for limit in limits),
                                     key=lambda limit: limit["name"])
                       for level, limits in levels.items()},
            "buckets": buckets(limiter, arguments),
            "audit": [event.to_dict() for event in limiter.get_audit_events(entity)]}


def plain(entity):
    return entity and dataclasses.asdict(entity)


def amounts(arguments):
    pairs = (text.partition("=") for text in arguments.amounts)
    return {name: int(amount) for name, _, amount in pairs}


def serve(arguments):
    parser = make_parser()
    for line in sys.stdin:
        try:
            answer = answer_to(parser.parse_args(json.loads(line)))
        except Exception as error:  # goes to who asked
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer, default=str), flush=True)
    return {"served": True}


def make_parser():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--table", default="weir-test")
    parser.add_argument("--namespace", default="default")
    verbs = parser.add_subparsers(required=True)

    def verb(name, function, *positionals, **options):
        added = verbs.add_parser(name)
        added.set_defaults(function=function)
        for positional in positionals:
            added.add_argument(positional, nargs="+" if positional == "amounts" else None)
        for option, settings in options.items():
            added.add_argument(f"--{option}", **settings)

    verb("create", create)
    verb("entity", create_entity, "entity", parent={}, cascade={"action": "store_true"})
    verb("limits", set_limits, "level", "limits")
    verb("take", take, "entity", "resource", "amounts")
    verb("load", load, "entity", "resource", "amounts",
         threads={"type": int, "default": 4}, seconds={"type": float, "default": 10.0})
    verb("read", read, "entity", "resource")
    verb("serve", serve)
    return parser


def answer_to(arguments):
    arguments.endpoint = os.environ["AWS_ENDPOINT_URL_DYNAMODB"]
    return arguments.function(arguments)


if __name__ == "__main__":
    print(json.dumps(answer_to(make_parser().parse_args()), default=str))
