#!/usr/bin/env python3
"""A process of the real zae-limiter 0.17.0 that works on a table as its caller says line by line.

usage: peer.py TABLE

Each line that it reads is a list of words in JSON, each answer a line of JSON. One limiter serves
all of them, with its caches, as in a process that has been running for a while.

    create                                  the table, its version record, the namespace
    entity ENTITY [PARENT]                  creates it; with a parent it cascades
    limits LEVEL LIMITS                     sets them; LEVEL is system, resource:R, entity:E
                                            or entity:E:R; LIMITS is a list as Limit.from_dict reads
    unlimit LEVEL                           deletes those of entity:E or entity:E:R
    divide ENTITY RESOURCE SHARDS           doubles the number of shards, which is SHARDS
    take ENTITY RESOURCE name=amount...     one decision; of an admitted one a lease
    end LEASE [name=amount...]              corrects the lease by signed amounts and ends it
    cancel LEASE                            gives all of it back
    load ENTITY RESOURCE JOURNAL THREADS SEED keep|give name=amount...
    stop                                    ends the load and returns its counts
    available ENTITY RESOURCE               name -> tokens
    read ENTITY RESOURCE                    entity, children, limits of each level, audit
    usage ENTITY RESOURCE                   its snapshots by entity and by resource, and the summary
                                            of each type of window

A failure is answered by {"error": TEXT}. Runs with the Python that tests/engines/install.py
made; the endpoint is AWS_ENDPOINT_URL_DYNAMODB.
"""

import dataclasses
import json
import os
import sys

for name, value in {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
                    "AWS_DEFAULT_REGION": "us-east-1"}.items():
    os.environ.setdefault(name, value)

import zae_limiter  # noqa: E402  reads the settings above
from zae_limiter import Limit, OnUnavailable, RateLimitExceeded, SyncRateLimiter, SyncRepository
from peer_takers import LoadThreads  # noqa: E402

PRINCIPAL = "peer"  # without one, the library would ask STS at the same endpoint
NAMESPACE = "default"


class GivenBack(Exception):
    """Ends a lease so that it is rolled back."""


class Peer:
    """Each method without an underscore is a verb."""

    def __init__(self, table):
        self._table, self._endpoint = table, os.environ["AWS_ENDPOINT_URL_DYNAMODB"]
        self._connected = None
        self._leases = {}
        self._takers = None

    @property
    def _limiter(self):
        if self._connected is None:
            self._connected = SyncRateLimiter(repository=SyncRepository.connect(
                NAMESPACE, stack=self._table, region="us-east-1", endpoint_url=self._endpoint))
        return self._connected

    def create(self):
        repository = SyncRepository(name=self._table, region="us-east-1",
                                    endpoint_url=self._endpoint, _skip_deprecation_warning=True)
        repository.create_table()
        # If a Lambda of this release is recorded, the features of every release are on.
        repository.set_version_record("0.10.0", lambda_version=zae_limiter.__version__,
                                      updated_by=PRINCIPAL)
        repository.register_namespace(NAMESPACE)

    def entity(self, entity, parent=None):
        self._limiter.create_entity(entity, parent_id=parent, cascade=parent is not None,
                                    principal=PRINCIPAL)

    def limits(self, level, text):
        limits = [Limit.from_dict(limit) for limit in json.loads(text)]
        kind, *names = level.split(":")
        if kind == "system":
            self._limiter.set_system_defaults(limits, principal=PRINCIPAL)
        elif kind == "resource":
            self._limiter.set_resource_defaults(names[0], limits, principal=PRINCIPAL)
        else:
            self._limiter.set_limits(names[0], limits, *names[1:], principal=PRINCIPAL)

    def unlimit(self, level):
        self._limiter.delete_limits(*level.split(":")[1:], principal=PRINCIPAL)

    def divide(self, entity, resource, shards):
        return self._limiter._repository.bump_shard_count(entity, resource, int(shards))

    def take(self, entity, resource, *amounts):
        asked = self._limiter.acquire(entity, resource, amounts_of(amounts),
                                      on_unavailable=OnUnavailable.BLOCK)
        try:
            lease = asked.__enter__()
        except RateLimitExceeded as refusal:
            return {"admitted": False, "retry_after": refusal.retry_after_seconds,
                    "contended": refusal.contended}
        number = len(self._leases) + 1
        self._leases[number] = (asked, lease)
        return {"admitted": True, "lease": number}

    def end(self, number, *amounts):
        asked, lease = self._leases[int(number)]
        lease.adjust(**amounts_of(amounts))
        asked.__exit__(None, None, None)

    def cancel(self, number):
        asked, _ = self._leases[int(number)]
        try:
            asked.__exit__(GivenBack, GivenBack(), None)
        except GivenBack:
            pass

    def load(self, entity, resource, journal, threads, seed, manner, *amounts):
        self._takers = LoadThreads(self._limiter, entity, resource, amounts_of(amounts), journal,
                              int(threads), int(seed), manner == "give")

    def stop(self):
        return self._takers.stop()

    def available(self, entity, resource):
        return self._limiter.available(entity, resource)

    def read(self, entity, resource):
        system, on_unavailable = self._limiter.get_system_defaults()
        levels = {"system": system,
                  f"resource:{resource}": self._limiter.get_resource_defaults(resource),
                  f"entity:{entity}": self._limiter.get_limits(entity),
                  f"entity:{entity}:{resource}": self._limiter.get_limits(entity, resource)}
        found = self._limiter.get_entity(entity)
        return {"entity": found and dataclasses.asdict(found),
                "children": sorted(child.id for child in self._limiter.get_children(entity)),
                "on_unavailable": on_unavailable.value if on_unavailable else None,
                "limits": {level: sorted((limit.to_dict() for limit in limits),
                                         key=lambda limit: limit["name"])
                           for level, limits in levels.items()},
                "audit": [event.to_dict() for event in self._limiter.get_audit_events(entity)]}

    def usage(self, entity, resource):
        windows = ("hourly", "daily", "monthly")
        return {"by_entity": self._snapshots(entity_id=entity, resource=resource),
                "by_resource": [snapshot for snapshot in self._snapshots(resource=resource)
                                if snapshot["entity_id"] == entity],
                "summaries": {window: dataclasses.asdict(self._limiter.get_usage_summary(
                    entity, resource, window_type=window)) for window in windows}}

    def _snapshots(self, **query):
        found, after = [], None
        while True:
            page, after = self._limiter.get_usage_snapshots(**query, next_key=after)
            found += map(dataclasses.asdict, page)
            if after is None:
                return found


def amounts_of(words):
    pairs = (word.partition("=") for word in words)
    return {name: int(amount) for name, _, amount in pairs}


def main(table):
    peer = Peer(table)
    for line in sys.stdin:
        verb, *words = json.loads(line)
        try:
            answer = getattr(peer, verb)(*words)
        except Exception as error:  # goes to the caller
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer, default=str), flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
