"""As decide.cc, by the real zae-limiter 0.17.0: its blocking client or its asynchronous one.

usage: peer_decide.py sync|async TABLE COUNT WORKERS KEYS  with the Python of tests/engines/install.py
"""

import asyncio
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


def decide(limiter, key, count):
    for _ in range(count):
        with limiter.acquire(**what(key)):
            pass


def measure(table, count, workers, keys):
    limiter = SyncRateLimiter(repository=SyncRepository.connect("default", **where(table)))
    for key in range(keys):
        decide(limiter, key, WARM_UP // keys)
    meter = Meter()
    threads = [threading.Thread(target=decide, args=(limiter, worker % keys, count // workers))
               for worker in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    meter.report(count // workers * workers)


async def decide_async(limiter, key, count):
    for _ in range(count):
        async with limiter.acquire(**what(key)):
            pass


async def measure_async(table, count, workers, keys):
    limiter = RateLimiter(repository=await Repository.connect("default", **where(table)))
    for key in range(keys):
        await decide_async(limiter, key, WARM_UP // keys)
    meter = Meter()
    await asyncio.gather(*(decide_async(limiter, worker % keys, count // workers)
                           for worker in range(workers)))
    meter.report(count // workers * workers)
    await limiter.close()


if __name__ == "__main__":
    kind, name, *numbers = sys.argv[1:]
    number, at_once, of_keys = map(int, numbers)
    if kind == "sync":
        measure(name, number, at_once, of_keys)
    else:
        asyncio.run(measure_async(name, number, at_once, of_keys))
