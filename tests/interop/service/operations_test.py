#!/usr/bin/env python3
"""`weir serve` while its rules change, its store is slow, and it ends or is killed.

usage: operations_test.py WEIR [UNITTEST_ARGUMENT...]
"""

import os
import pathlib
import queue
import shlex
import signal
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
import served  # noqa: E402
from served import OK, OVER_LIMIT, Served, engine, request  # noqa: E402
import fault_proxy  # noqa: E402
import grpc  # noqa: E402
from grpc_health.v1 import health_pb2  # noqa: E402

WEIR = os.path.abspath(sys.argv.pop(1))
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
CONNECTIONS = 'weir_transport_connections{listener="grpc"}'
LOADS = 'weir_service_rules_loads_total{result="%s"}'


def rules(requests):
    # Years refill none of the tokens of a test.
    return f"domains: {{edge: {{rules: [{{match: user, limits: {{requests: '{requests}/366d'}}}}]}}}}"


class Reload(unittest.TestCase):
    def capacity(self, service):
        """Of a new bucket."""
        self.users = getattr(self, "users", 0) + 1
        with service.channel() as channel:
            message = request(0, user=f"new-{self.users}")
            return served.limits(channel).ShouldRateLimit(message, timeout=5).statuses[0].limit_remaining

    def wait_for(self, service, capacity):
        engine.wait_until(lambda: self.capacity(service) == capacity, f"the capacity is {capacity}", 5)

    def wait_for_log(self, service, text):
        engine.wait_until(lambda: text in service.log(), f"the log has {text}", 5)

    def test_a_changed_file_is_read(self):
        with Served(WEIR, rules(5)) as service:
            self.assertEqual(self.capacity(service), 5)
            service.rules_file.write_text(rules(6))
            self.wait_for(service, 6)
            renamed = service.folder / "renamed"
            renamed.write_text(rules(7))
            renamed.rename(service.rules_file)
            self.wait_for(service, 7)
            self.assertEqual(service.metric(LOADS % "ok"), 3)

    def test_a_bad_file_keeps_the_last_good_one(self):
        with Served(WEIR, rules(5)) as service:
            service.rules_file.write_text("domains: {edge: {rules: [{limit: 1}]}}")
            engine.wait_until(lambda: service.metric(LOADS % "error") == 1, "the file is refused", 5)
            self.assertEqual(self.capacity(service), 5)
            self.assertIn("service.rules_refused", service.log())
            self.assertIn("unknown key 'limit'", service.log())
            service.rules_file.unlink()
            service.process.send_signal(signal.SIGHUP)
            engine.wait_until(lambda: service.metric(LOADS % "error") == 2, "there is no file", 5)
            self.assertEqual(self.capacity(service), 5)
            service.rules_file.write_text(rules(6))
            self.wait_for(service, 6)
            # The end of a refusal is at the level of the refusal, which the default level shows.
            self.wait_for_log(service, "warning service.rules_loaded rules=1")
            service.rules_file.write_text(rules(7))
            self.wait_for_log(service, "info service.rules_loaded rules=1")

    def test_a_file_without_rules_is_a_warning(self):
        with Served(WEIR, rules(5)) as service:
            service.rules_file.write_text("domains: {edge: {rules: []}}")
            self.wait_for_log(service, "info service.rules_loaded rules=0")
            self.wait_for_log(service, "warning service.no_rules")
            self.assertIn("rules.yaml has none", service.log())

    def test_the_links_of_a_config_map(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for version, requests in (("1", 5), ("2", 6)):
                (folder / version).mkdir()
                (folder / version / "rules.yaml").write_text(rules(requests))
            (folder / "..data").symlink_to("1")
            (folder / "rules.yaml").symlink_to("..data/rules.yaml")
            with Served(WEIR, folder / "rules.yaml") as service:
                self.assertEqual(self.capacity(service), 5)
                (folder / "..data_tmp").symlink_to("2")
                (folder / "..data_tmp").rename(folder / "..data")
                self.wait_for(service, 6)

    def test_tokens_in_use_stay_in_use(self):
        with Served(WEIR, rules(5)) as service, service.channel() as channel:
            call = served.limits(channel).ShouldRateLimit
            call(request(4, user="a"), timeout=5)
            service.rules_file.write_text(rules(10))
            self.wait_for(service, 10)
            self.assertEqual(call(request(0, user="a"), timeout=5).statuses[0].limit_remaining, 6)


class Connections(unittest.TestCase):
    def test_only_a_given_number_that_does_not_fit_is_a_warning(self):
        with tempfile.TemporaryDirectory() as folder:
            few = pathlib.Path(folder) / "weir"
            few.write_text(f'#!/bin/sh\nulimit -n 1024\nexec {shlex.quote(WEIR)} "$@"\n')
            few.chmod(0o755)
            self.check(few)

    def check(self, weir):
        for options, expected in ((("--max-connections", "20000"), "warning"), ((), "info")):
            with self.subTest(expected), Served(weir, rules(5), *options) as service:
                text = f"{expected} service.connections_bounded"
                engine.wait_until(lambda: text in service.log(), f"the log has {text}", 5)


class SlowStore(unittest.TestCase):
    """The store is a real engine behind a proxy."""

    def setUp(self):
        dynoxide = self.enterContext(engine.Dynoxide())
        self.proxy = self.enterContext(fault_proxy.FaultProxy(dynoxide))
        environment = dynoxide.environment() | {"AWS_ENDPOINT_URL_DYNAMODB": self.proxy.url}
        store = served.create_table(WEIR, environment)
        self.service = self.enterContext(Served(WEIR, rules(10), "--store-timeout", "2s",
                                                store=store, environment=environment))
        self.channel = self.enterContext(self.service.channel())
        self.limits = served.limits(self.channel)

    def remaining(self):
        message = request(0, user="a")
        return self.limits.ShouldRateLimit(message, timeout=5).statuses[0].limit_remaining

    def assert_fails(self, code, shortest, longest, **options):
        """Within these seconds."""
        began = time.monotonic()
        with self.assertRaises(grpc.RpcError) as failed:
            self.limits.ShouldRateLimit(request(user="a"), **options)
        self.assertEqual(failed.exception.code(), code, failed.exception.details())
        self.assertTrue(shortest <= time.monotonic() - began <= longest, time.monotonic() - began)

    def test_deadlines(self):
        self.assertEqual(self.remaining(), 10)
        self.proxy.set_mode("swallow")
        self.assert_fails(grpc.StatusCode.DEADLINE_EXCEEDED, 0.2, 0.5, timeout=0.2)
        self.assert_fails(grpc.StatusCode.UNAVAILABLE, 1.5, 3)
        self.proxy.set_mode("pass")
        engine.wait_until(self.answers, "the store answers", 20)
        # A charge that was sent may be stored yet, so it counts until that is known.
        self.assertGreaterEqual(self.remaining(), 8)

    def answers(self):
        try:
            return self.remaining() >= 0
        except grpc.RpcError:
            return False

    def test_a_store_that_fails_is_unavailable(self):
        self.assertEqual(self.remaining(), 10)
        self.proxy.set_mode("reset")
        self.assert_fails(grpc.StatusCode.UNAVAILABLE, 0, 4)
        self.assertGreaterEqual(self.service.metric(
            'weir_service_requests_total{result="error"}'), 1)

    # Fails if: only rules on the four levels follow the policy, because the others read no level.
    def test_rules_with_limits_of_their_own_follow_the_policy_of_the_system(self):
        self.service.terminate()
        limits = self.service.folder / "limits.yaml"
        limits.write_text("namespace: default\n"
                          "system: {on_unavailable: allow, limits: {requests: 1/min}}\n")
        self.service.options += ("--limits", limits)
        self.service.start()
        self.proxy.set_mode("reset")
        with self.service.channel() as channel:
            response = served.limits(channel).ShouldRateLimit(request(user="new"), timeout=10)
        self.assertEqual(response.overall_code, OK)
        self.assertEqual(self.service.metric("weir_service_unprotected_total"), 1)

    def test_a_drain_waits_for_requests_in_flight(self):
        self.assertEqual(self.remaining(), 10)
        self.proxy.set_mode("delay 1000")
        future = self.limits.ShouldRateLimit.future(request(user="a"), timeout=5)
        engine.wait_until(lambda: self.service.metric("weir_service_requests_in_flight") == 1,
                          "the request is in flight", 5)
        self.assertEqual(self.service.terminate(), 0)
        self.assertEqual(future.result().overall_code, OK)


class Drain(unittest.TestCase):
    def test_health_reports_the_end_and_the_exit_code_is_0(self):
        with Served(WEIR, rules(5)) as service, service.channel() as channel:
            watch = served.health(channel).Watch(health_pb2.HealthCheckRequest(), timeout=20)
            self.assertNotEqual(next(watch).status, NOT_SERVING)
            self.assertEqual(service.page("/readyz")[0], 200)
            service.process.terminate()
            began = time.monotonic()
            self.assertEqual(next(watch).status, NOT_SERVING)
            with self.assertRaises(grpc.RpcError) as ended:
                next(watch)
            self.assertEqual(ended.exception.code(), grpc.StatusCode.UNAVAILABLE)
            self.assertEqual(service.end(), 0)
            self.assertLess(time.monotonic() - began, 5)
            self.assertRegex(service.log(), "service.drained ended=.* cut=0")

    def test_a_drain_ends_after_its_time_and_probes_see_it(self):
        with Served(WEIR, rules(5), "--drain-timeout", "3s") as service, service.channel() as channel:
            name = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
            open_call = channel.stream_stream(name)(iter(queue.Queue().get, None))
            engine.wait_until(lambda: service.metric(CONNECTIONS) == 1, "the call is open", 5)
            began = time.monotonic()
            service.process.terminate()
            engine.wait_until(lambda: service.page("/readyz")[0] == 503, "it is not ready", 5)
            self.assertEqual(service.page("/healthz")[0], 200)
            self.assertEqual(service.end(), 0)
            self.assertTrue(2.5 < time.monotonic() - began < 5)
            self.assertIn("service.drained ended=0 cut=1", service.log())
            self.assertEqual(open_call.code(), grpc.StatusCode.UNAVAILABLE)

    def test_signals_right_after_the_start(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            for _ in range(10):
                with Served(WEIR, rules(5)) as service:
                    service.process.send_signal(number)
                    if number == signal.SIGHUP:
                        engine.wait_until(lambda: service.metric(LOADS % "ok") == 2, "a reload", 5)
                        service.process.terminate()
                    self.assertEqual(service.end(), 0)

    def test_without_calls_it_ends_soon(self):
        with Served(WEIR, rules(5)) as service, service.channel() as channel:
            served.limits(channel).ShouldRateLimit(request(user="a"), timeout=5)
            began = time.monotonic()
            self.assertEqual(service.terminate(), 0)
            self.assertLess(time.monotonic() - began, 3)


class Taker(threading.Thread):
    """Takes one token again and again, and counts the responses, until `stops` is set."""

    def __init__(self, channel, stops):
        super().__init__()
        self.call, self.stops = served.limits(channel).ShouldRateLimit, stops
        self.acknowledged = self.sent = 0
        self.codes = set()

    def run(self):
        while not self.stops.is_set():
            self.sent += 1
            try:
                self.acknowledged += self.call(request(user="a"), timeout=5).overall_code == OK
            except grpc.RpcError as error:
                self.codes.add(error.code())
                time.sleep(0.02)


class Killed(unittest.TestCase):
    """kill -9 under load, with a store that commits before it acknowledges."""

    CAPACITY = 1_000_000

    def test_nothing_that_was_acknowledged_is_lost_and_clients_recover(self):
        port, = engine.free_ports(1)
        with tempfile.TemporaryDirectory() as folder, Served(
                WEIR, rules(self.CAPACITY), grpc=f"127.0.0.1:{port}", durability="strict",
                store=f"sqlite:{folder}/limits.db") as service:
            stops = threading.Event()
            with service.channel() as channel:
                takers = [Taker(channel, stops) for _ in range(8)]
                for taker in takers:
                    taker.start()
                try:
                    for _ in range(3):
                        self.kill_under_load(service, takers)
                    self.wait_for_load(takers)
                finally:
                    stops.set()
                    for taker in takers:
                        taker.join()
                self.check(channel, takers, kills=3)

    def wait_for_load(self, takers):
        before = sum(taker.acknowledged for taker in takers)
        engine.wait_until(lambda: sum(taker.acknowledged for taker in takers) > before + 200,
                          "clients are served", 20)

    def kill_under_load(self, service, takers):
        self.wait_for_load(takers)
        service.kill()
        service.start()

    def check(self, channel, takers, kills):
        acknowledged = sum(taker.acknowledged for taker in takers)
        status = served.limits(channel).ShouldRateLimit(request(0, user="a"), timeout=5).statuses[0]
        consumed = self.CAPACITY - status.limit_remaining
        print(f"{acknowledged} acknowledged, {consumed} consumed", file=sys.stderr)
        self.assertGreaterEqual(consumed, acknowledged)
        # One request of each client was in flight at each kill.
        self.assertLessEqual(consumed, acknowledged + kills * len(takers) + 1)
        self.assertEqual(set().union(*(taker.codes for taker in takers)),
                         {grpc.StatusCode.UNAVAILABLE})


if __name__ == "__main__":
    unittest.main(verbosity=2)
