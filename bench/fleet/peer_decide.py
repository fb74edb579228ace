"""The same program as decide.cc, with zae-limiter 0.17.0: its blocking client or its asynchronous one.

usage: peer_decide.py sync|async TABLE COUNT AT_ONCE KEYS  with the Python of tests/engines/install.py
"""

import asyncio
import itertools
import json
import os
import resource
import sys
import threading
import time

from zae_limiter import OnUnavailable, RateLimiter, Repository, SyncRateLimiter, SyncRepository

WARM_UP = 100


def what(key):
    return {"entity_id": f"of-peer-{key}", "resource": "llm", "consume": {"rpm": 1},
            "on_unavailable": OnUnavailable.BLOCK}


def where(table):
    return {"stack": table, "region": "us-east-1",
            "endpoint_url": os.environ["AWS_ENDPOINT_URL_DYNAMODB"]}


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Meter:
    def __init__(self):
        self.begun, self.before = time.monotonic(), cpu_seconds()

    def report(self, count):
        print(json.dumps({"decisions": count, "cpu_s": cpu_seconds() - self.before,
                          "wall_s": time.monotonic() - self.begun}))


def keys_of(caller, at_once, keys):
    """The keys of one caller, in turn: its own if there are enough of them."""
    return itertools.cycle([key % keys for key in range(caller, max(keys, caller + 1), at_once)])


def warm_up_of(keys):
    """How many decisions on all keys; on each at least two, the first of which makes the bucket."""
    return max(2, WARM_UP // keys) * keys


def decide(limiter, keys, count):
    for key in itertools.islice(keys, count):
        with limiter.acquire(**what(key)):
            pass


def measure(table, count, at_once, keys):
    limiter = SyncRateLimiter(repository=SyncRepository.connect("default", **where(table)))
    decide(limiter, keys_of(0, 1, keys), warm_up_of(keys))
    meter = Meter()
    threads = [threading.Thread(target=decide, args=(limiter, keys_of(caller, at_once, keys),
                                                     count // at_once))
               for caller in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    meter.report(count // at_once * at_once)


async def decide_async(limiter, keys, count):
    for key in itertools.islice(keys, count):
        async with limiter.acquire(**what(key)):
            pass


async def measure_async(table, count, at_once, keys):
    limiter = RateLimiter(repository=await Repository.connect("default", **where(table)))
    await decide_async(limiter, keys_of(0, 1, keys), warm_up_of(keys))
    meter = Meter()
    await asyncio.gather(*(decide_async(limiter, keys_of(caller, at_once, keys), count // at_once)
                           for caller in range(at_once)))
    meter.report(count // at_once * at_once)
    await limiter.close()


if __name__ == "__main__":
    kind, name, *numbers = sys.argv[1:]
    measured = measure_async if kind == "async" else measure
    done = measured(name, *map(int, numbers))
    if kind == "async":
        asyncio.run(done)
