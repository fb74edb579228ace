#!/usr/bin/env python3
"""What a producer takes: memory while nothing is answered, and time while nothing is put.

usage: bounds_test.py PRODUCER_DRIVER
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
from streams import engine  # noqa: E402
from fake_service import FakeService  # noqa: E402
from put_proxy import PutProxy  # noqa: E402

DRIVER = sys.argv.pop()
MIB = 1 << 20
BOUND = 64 * MIB
BESIDES = 32 * MIB  # the program, and requests on their way
SHARDS, REQUESTS = 4, 30
IDLE_STREAMS, IDLE_SECONDS = 100, 10
IDLE_SHARE = 0.001  # of a core


class Driver:
    """The process; each step of it ends with a line of JSON."""

    def __init__(self, *words):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("AWS_")}
        self.process = engine.start(
            [DRIVER, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment | {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
                               "AWS_REGION": "us-east-1"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def told(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the driver ended with {self.process.wait()}")
        return json.loads(line)

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def most_memory(self):
        """Bytes that were resident at once, so far."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024

    def cpu_seconds(self):
        """Of all its threads."""
        threads = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


class Bounds(unittest.TestCase):
    def bounded(self, how, data_bytes):
        service = self.enterContext(FakeService(SHARDS))
        proxy = self.enterContext(PutProxy(service))
        driver = self.enterContext(Driver("bound", proxy.url, how, data_bytes, BOUND))
        driver.told()
        proxy.set_mode("swallow")
        driver.go_on()
        full = driver.told()
        # By then many have failed and were sent again.
        proxy.wait_for_requests(REQUESTS)
        memory = driver.most_memory()
        proxy.set_mode("pass")
        driver.go_on()
        ended = driver.told()
        print(f"{how}, {data_bytes} bytes: {full}, {memory / MIB:.1f} MiB, {ended}")
        self.assertEqual((full["tried"], full["waited"]), ("RESOURCE_EXHAUSTED",) * 2)
        self.assertLessEqual(full["pending_bytes"], BOUND)
        self.assertEqual((ended["stored"], ended["failed"]), (full["taken"] + 1, 0))
        self.assertEqual(set(service.stored), {"first", *map(str, range(full["taken"]))})
        self.assertLessEqual(memory, BOUND + BESIDES)

    def test_small_records(self):
        self.bounded("aggregated", 100)

    def test_small_records_that_travel_alone(self):
        self.bounded("separate", 100)

    def test_large_records(self):
        self.bounded("aggregated", 10_000)


class Idle(unittest.TestCase):
    def test_open_streams_take_no_time(self):
        service = self.enterContext(FakeService())
        driver = self.enterContext(Driver("idle", service.url, IDLE_STREAMS))
        driver.told()
        before = driver.cpu_seconds()
        # It waits for the next step all the time.
        with self.assertRaises(subprocess.TimeoutExpired):
            driver.process.wait(IDLE_SECONDS)
        used = driver.cpu_seconds() - before
        print(f"{IDLE_STREAMS} idle streams: {used / IDLE_SECONDS:.4%} of a core")
        self.assertLess(used, IDLE_SHARE * IDLE_SECONDS)


if __name__ == "__main__":
    unittest.main()
