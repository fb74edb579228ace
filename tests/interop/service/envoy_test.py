#!/usr/bin/env python3
"""Real Envoy with deploy/envoy in front of `weir serve`.

usage: envoy_test.py WEIR [UNITTEST_ARGUMENT...]
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
import served  # noqa: E402
import streams  # noqa: E402
from proxy import RULES, Envoy  # noqa: E402
from served import OVER_LIMIT, Served, engine, request  # noqa: E402

WEIR = os.path.abspath(sys.argv.pop(1))
BURST, CAPACITY = 10, 50_000  # of rules.yaml: requests and tokens
SECONDS_PER_TOKEN = 3600 / 50_000
BOTH_LIMITS = '60;w=60;name="edge/user=*", 50000;w=3600;name="edge/user_tokens=*"'
CONNECTIONS = "cluster.weir.upstream_cx_total"


class Limits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = cls.enterClassContext(Served(WEIR, RULES))
        cls.envoy = cls.enterClassContext(Envoy(cls.service.port))
        cls.limits = served.limits(cls.enterClassContext(cls.service.channel()))

    def get(self, **headers):
        return self.envoy.get(self.envoy.open_port, **headers)

    def look(self, user):
        return self.limits.ShouldRateLimit(request(0, user_tokens=user), timeout=5)

    def wait_for_charge(self, user, remaining):
        engine.wait_until(lambda: self.look(user).statuses[0].limit_remaining == remaining,
                          f"{user} has {remaining} tokens", 5)

    def test_each_user_has_a_limit_and_gets_its_headers(self):
        began = time.monotonic()
        status, headers = self.get(user="ann")
        self.assertEqual(status, 200)
        self.assertEqual(headers["x-ratelimit-limit"], "60, " + BOTH_LIMITS)
        self.assertEqual((headers["x-ratelimit-remaining"], headers["x-ratelimit-reset"]), ("9", "1"))
        admitted = 1
        while (response := self.get(user="ann"))[0] == 200:
            admitted += 1
            self.assertLessEqual(admitted, BURST + 1 + time.monotonic() - began)
        self.assertGreaterEqual(admitted, BURST)
        status, headers = response
        self.assertEqual((status, headers["x-ratelimit-remaining"], headers["retry-after"],
                          headers["x-envoy-ratelimited"]), (429, "0", "1", "true"))
        self.assertEqual(self.get(user="bob")[0], 200)

    def test_requests_without_a_limit_pass(self):
        for headers, limit in (({}, None), ({"user": "admin"}, '50000, 50000;w=3600;name="edge/user_tokens=*"')):
            for _ in range(BURST + 2):
                status, received = self.get(**headers)
                self.assertEqual((status, received.get("x-ratelimit-limit")), (200, limit))

    def test_the_cost_is_charged_at_the_end_and_debt_refuses(self):
        self.get(user="carl", cost=1000)
        self.wait_for_charge("carl", CAPACITY - 1000)
        self.get(user="carl")  # has no cost
        self.get(user="carl", cost=CAPACITY)
        self.wait_for_charge("carl", 0)
        status, headers = self.get(user="carl")
        self.assertEqual((status, headers["x-ratelimit-limit"]),
                         (429, "50000, " + BOTH_LIMITS))
        self.assertAlmostEqual(int(headers["retry-after"]), 1001 * SECONDS_PER_TOKEN, delta=3)
        self.assertEqual(self.get(user="dora")[0], 200)

    def test_a_refused_request_costs_nothing(self):
        self.get(user="eve", cost=2 * CAPACITY)
        self.wait_for_charge("eve", 0)
        reset = self.look("eve").statuses[0].duration_until_reset.seconds
        for _ in range(3):
            self.assertEqual(self.get(user="eve", cost=CAPACITY)[0], 429)
        later = [f"later-{i}" for i in range(8)]
        for user in later:  # charges of the refused requests would be made before these
            self.get(user=user, cost=2 * CAPACITY)
        for user in later:
            self.wait_for_charge(user, 0)
        self.assertLessEqual(self.look("eve").statuses[0].duration_until_reset.seconds, reset)


class Streams(unittest.TestCase):
    """1,000 streams at the same time, which together cost twice the capacity of the user."""

    COUNT, COSTS = 1000, (50, 150)

    def test_their_debt_is_the_sum_of_their_costs(self):
        with tempfile.TemporaryDirectory() as folder:
            store = f"sqlite:{folder}/limits.db"
            with Served(WEIR, RULES, store=store) as service:
                asyncio.run(self.run_streams(service))
                self.assertEqual(service.terminate(), 0)
            self.assertEqual(self.consumed(store), sum(self.COSTS) * self.COUNT // 2)

    async def run_streams(self, service):
        backend = streams.Backend()
        async with backend.listening() as port:
            with Envoy(service.port, port) as envoy:
                gets = [asyncio.create_task(streams.get(
                    envoy.open_port, user="admin", cost=self.COSTS[i % 2])) for i in range(self.COUNT)]
                await backend.wait_for(self.COUNT)
                self.assertEqual(self.state(service), (served.OK, CAPACITY, 0))
                backend.end_responses()
                for head, body in await asyncio.gather(*gets):
                    self.assertEqual((streams.status(head), body[-10:]), (200, b"end\r\n0\r\n\r\n"))
                debt = sum(self.COSTS) * self.COUNT // 2 - CAPACITY
                await asyncio.to_thread(engine.wait_until, lambda: self.state(service)[2] > (
                    debt - 10) * SECONDS_PER_TOKEN, "all costs are charged", 10)
                self.assertEqual(self.state(service)[:2], (OVER_LIMIT, 0))
                head, _ = await streams.get(envoy.open_port, user="admin")
                self.assertEqual(streams.status(head), 429)

    def state(self, service):
        with service.channel() as channel:
            response = served.limits(channel).ShouldRateLimit(request(0, user_tokens="admin"), timeout=5)
        status = response.statuses[0]
        return response.overall_code, status.limit_remaining, status.duration_until_reset.seconds

    def consumed(self, store):
        listed = subprocess.run([WEIR, "--store", store, "--json", "buckets", "rule.:_user_tokens:admin"],
                                capture_output=True, text=True, check=True, timeout=10)
        bucket, = json.loads(listed.stdout)["buckets"]
        return bucket["limits"][0]["consumed"]


class ServiceFails(unittest.TestCase):
    def test_without_the_service_one_listener_passes_and_one_refuses(self):
        port, = engine.free_ports(1)
        service = self.enterContext(Served(WEIR, RULES, grpc=f"127.0.0.1:{port}"))
        envoy = self.enterContext(Envoy(service.port))
        for port in (envoy.open_port, envoy.closed_port):
            self.assertEqual(envoy.get(port, user="ann")[0], 200)
        service.kill()
        for _ in range(BURST + 2):
            self.assertEqual(envoy.get(envoy.open_port, user="ann")[0], 200)
            self.assertEqual(envoy.get(envoy.closed_port, user="ann")[0], 503)
        service.start()
        engine.wait_until(lambda: envoy.get(envoy.closed_port, user="bob")[0] == 200,
                          "Envoy has connected again", 20)
        for _ in range(BURST + 20):
            status, _ = envoy.get(envoy.closed_port, user="bob")
        self.assertEqual(status, 429)


def is_decided(head):
    return "x-ratelimit-limit" in head


class Stalls(unittest.TestCase):
    """The service, or its store, stops for two seconds under load."""

    STALL_SECONDS, RECOVERY_SECONDS = 2, 20
    # More resets than nghttp2 lets a peer make by default: 1,000 and 33 a second.
    OF_THE_SERVICE = {"clients": 100, "resets": 1100}
    # So few that the store has time for each of them.
    OF_THE_STORE = {"clients": 8, "resets": 80}

    def test_the_service_stalls(self):
        service = self.enterContext(Served(WEIR, RULES))
        asyncio.run(self.stall(service, service.process, **self.OF_THE_SERVICE))

    def test_the_store_stalls(self):
        dynoxide = self.enterContext(engine.Dynoxide())
        environment = dynoxide.environment()
        store = served.create_table(WEIR, environment)
        service = self.enterContext(Served(WEIR, RULES, store=store, environment=environment))
        asyncio.run(self.stall(service, dynoxide.process, **self.OF_THE_STORE))
        engine.wait_until(lambda: service.metric("weir_service_requests_in_flight") == 0,
                          "no request is in flight", 10)

    async def stall(self, service, process, clients, resets):
        with Envoy(service.port) as envoy:
            heads, stops = [], asyncio.Event()
            tasks = [asyncio.create_task(self.ask(envoy, i, heads, stops)) for i in range(clients)]
            await self.wait_for_decisions(heads)
            connections = envoy.statistic(CONNECTIONS)
            with engine.stopped(process):
                stalled = len(heads) + 2 * clients  # some are decided already
                await asyncio.sleep(self.STALL_SECONDS)
                stalled = heads[stalled:]
            await self.wait_for_decisions(heads)
            stops.set()
            await asyncio.gather(*tasks)
            self.check(envoy, connections, stalled, resets)

    async def ask(self, envoy, number, heads, stops):
        while not stops.is_set():
            heads.append((await streams.get(envoy.open_port, user=f"{number}"))[0])

    async def wait_for_decisions(self, heads):
        """Returns when each of many requests one after the other has been decided."""
        seen = len(heads)
        async with asyncio.timeout(self.RECOVERY_SECONDS):
            while len(heads) < seen + 300 or not all(map(is_decided, heads[-50:])):
                await asyncio.sleep(0.05)

    def check(self, envoy, connections, stalled, expected):
        resets = envoy.statistic("cluster.weir.upstream_rq_tx_reset")
        print(f"{len(stalled)} in the stall, {resets} resets, {connections} connections",
              file=sys.stderr)
        self.assertGreater(resets, expected)
        self.assertIn(False, map(is_decided, stalled))
        self.assertEqual({streams.status(head) for head in stalled if not is_decided(head)}, {200})
        self.assertEqual(envoy.statistic(CONNECTIONS), connections)
        self.assertEqual(envoy.statistic("cluster.weir.upstream_cx_destroy"), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
