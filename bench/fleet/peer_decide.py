"""As decide.cc, by the real zae-limiter 0.17.0: its blocking client or its asynchronous one.

usage: peer_decide.py sync|async TABLE COUNT WORKERS     with the Python of tests/engines/install.py
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
WHAT = {"entity_id": "of-peer", "resource": "llm", "consume": {"rpm": 1},
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


def decide(limiter, count):
    for _ in range(count):
        with limiter.acquire(**WHAT):
            pass


def measure(table, count, workers):
    limiter = SyncRateLimiter(repository=SyncRepository.connect("default", **where(table)))
    decide(limiter, WARM_UP)
    meter = Meter()
    threads = [threading.Thread(target=decide, args=(limiter, count // workers))
               for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    meter.report(count // workers * workers)


async def decide_async(limiter, count):
    for _ in range(count):
        async with limiter.acquire(**WHAT):
            pass


async def measure_async(table, count, workers):
    limiter = RateLimiter(repository=await Repository.connect("default", **where(table)))
    await decide_async(limiter, WARM_UP)
    meter = Meter()
    await asyncio.gather(*(decide_async(limiter, count // workers) for _ in range(workers)))
    meter.report(count // workers * workers)
    await limiter.close()


if __name__ == "__main__":
    kind, name, number, at_once = sys.argv[1:]
    if kind == "sync":
        measure(name, int(number), int(at_once))
    else:
        asyncio.run(measure_async(name, int(number), int(at_once)))
