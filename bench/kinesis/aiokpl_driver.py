"""Puts records with aiokpl 0.2.0 and prints the time and CPU time.

usage: aiokpl_driver.py ENDPOINT COUNT     with the Python of install.py
"""

import json
import resource
import sys
import time

import anyio
from aiokpl import Config, Producer

import workload

STREAM = "bench"
OUTSTANDING = 50_000
PLENTY = 1e12  # of records and bytes a second: a limit that is never met


def config(endpoint):
    return Config(region="us-east-1", endpoint_url=endpoint, verify_ssl=False,
                  aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="none",
                  record_max_buffered_time_ms=100.0, max_outstanding_records=OUTSTANDING,
                  rate_limit_records_per_sec_per_shard=PLENTY,
                  rate_limit_bytes_per_sec_per_shard=PLENTY)


async def put_all(producer, data, first, count):
    """Puts the records from one task, as aiokpl requires. Returns how many were stored."""
    outcomes = [await producer.put_record(stream=STREAM, partition_key=workload.KEYS[i % 256],
                                          data=workload.record(data, i))
                for i in range(first, first + count)]
    await producer.flush()
    return sum([(await outcome.wait()).success for outcome in outcomes])


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def measure(endpoint, count):
    data = workload.pool()
    async with Producer(config(endpoint)) as producer:
        await put_all(producer, data, 0, count // 10)
        begun, before = time.monotonic(), cpu_seconds()
        stored = await put_all(producer, data, count // 10, count)
        print(json.dumps({"records": count, "stored": stored,
                          "wall_s": time.monotonic() - begun,
                          "cpu_s": cpu_seconds() - before}))


if __name__ == "__main__":
    anyio.run(measure, sys.argv[1], int(sys.argv[2]))
