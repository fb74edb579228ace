#!/usr/bin/env python3
"""gRPC's Python client calls `weir serve`: rate limits, Kuadrant's methods, health, reflection.

usage: grpc_client_test.py WEIR [UNITTEST_ARGUMENT...]
"""

import gzip
import os
import sys
import time
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
import served  # noqa: E402
from served import OK, OVER_LIMIT, Served, Unit, add_descriptor, request  # noqa: E402
import grpc  # noqa: E402
from google.protobuf import descriptor_pool, message_factory  # noqa: E402
from grpc_health.v1 import health_pb2  # noqa: E402
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (  # noqa: E402
    ProtoReflectionDescriptorDatabase)

WEIR = os.path.abspath(sys.argv.pop(1))
SERVICES = {"envoy.service.ratelimit.v3.RateLimitService",
            "kuadrant.service.ratelimit.v1.RateLimitService", "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"}
# A day refills one of ten tokens in more than two hours: no test sees a refill.
RULES = """
domains:
  edge:
    rules:
      - {match: user, limits: {requests: 10/day}}
      - {match: path, limits: {requests: 3/day}}
      - {match: cost, limits: {tokens: 100/day}, charge: always}
      - {match: trial, limits: {requests: 1/day}, shadow: true}
      - {match: {user: root}, unlimited: true}
"""


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = cls.enterClassContext(Served(WEIR, RULES))
        cls.channel = cls.enterClassContext(cls.service.channel())
        cls.limits = served.limits(cls.channel)
        cls.kuadrant = served.kuadrant(cls.channel)
        cls.health = served.health(cls.channel)

    def call(self, message):
        return self.limits.ShouldRateLimit(message, timeout=served.CALL_SECONDS)

    def check(self, message, code, remaining):
        response = self.call(message)
        self.assertEqual(response.overall_code, code, response)
        self.assertEqual([status.limit_remaining for status in response.statuses], remaining)
        return response

    def assert_error(self, code, text, call, *arguments, **options):
        options.setdefault("timeout", served.CALL_SECONDS)
        with self.assertRaises(grpc.RpcError) as raised:
            call(*arguments, **options)
        self.assertEqual(raised.exception.code(), code, raised.exception.details())
        self.assertIn(text, raised.exception.details())


class RateLimits(Calls):
    def test_a_status_states_the_limit_and_when_it_resets(self):
        response = self.check(request(user="states"), OK, [9])
        status, = response.statuses
        self.assertEqual(status.code, OK)
        self.assertEqual((status.current_limit.requests_per_unit, status.current_limit.unit,
                          status.current_limit.name), (10, Unit.DAY, "edge/user=*"))
        self.assertAlmostEqual(status.duration_until_reset.seconds, 8640, delta=2)
        self.assertEqual(status.duration_until_reset.nanos, 0)

    def test_a_refusal_charges_nothing_and_states_its_wait(self):
        message = request(user="refused")
        message.hits_addend = 8
        self.check(message, OK, [2])
        status = self.check(message, OVER_LIMIT, [2]).statuses[0]
        self.assertAlmostEqual(status.duration_until_reset.seconds, 6 * 8640, delta=5)
        message.hits_addend = 2
        self.check(message, OK, [0])

    def test_more_than_the_capacity_is_refused_without_a_wait(self):
        status = self.check(request(11, user="more"), OVER_LIMIT, [10]).statuses[0]
        self.assertFalse(status.HasField("duration_until_reset"))

    def test_each_value_has_a_bucket(self):
        self.check(request(10, user="one"), OK, [0])
        self.check(request(user="one"), OVER_LIMIT, [0])
        self.check(request(user="two"), OK, [9])

    def test_descriptors_of_a_request_are_charged_all_or_none(self):
        both = add_descriptor(request(4, user="both"), 4, path="/both")
        response = self.check(both, OVER_LIMIT, [10, 3])
        self.assertEqual([status.code for status in response.statuses], [OK, OVER_LIMIT])
        self.check(add_descriptor(request(user="both"), path="/both"), OK, [9, 2])

    def test_zero_hits_of_a_descriptor_only_look(self):
        for _ in range(3):
            self.check(request(0, user="looks"), OK, [10])
        self.check(request(10, user="looks"), OK, [0])
        self.check(request(0, user="looks"), OVER_LIMIT, [0])

    def test_the_hits_of_a_request_are_one_unless_given(self):
        message = request(user="hits")
        self.check(message, OK, [9])
        message.hits_addend = 5
        self.check(message, OK, [4])
        self.check(add_descriptor(message, 1, path="/hits"), OVER_LIMIT, [4, 3])

    def test_negative_hits_give_back_up_to_the_capacity(self):
        self.check(request(7, user="back"), OK, [3])
        response = self.call(request(5, is_negative=True, user="back"))
        self.assertEqual(response.overall_code, OK)
        self.check(request(0, user="back"), OK, [8])
        self.call(request(1000, is_negative=True, user="back"))
        self.check(request(0, user="back"), OK, [10])

    def test_a_charge_in_any_case_goes_into_debt(self):
        self.assertEqual(self.call(request(250, cost="debt")).overall_code, OK)
        status = self.check(request(0, cost="debt"), OVER_LIMIT, [0]).statuses[0]
        self.assertAlmostEqual(status.duration_until_reset.seconds, 151 * 864, delta=5)

    def test_a_shadow_rule_never_refuses(self):
        for remaining in (0, 0):
            self.check(request(trial="a"), OK, [remaining])
        self.assertEqual(self.service.metric(
            'weir_service_rule_shadow_over_total{domain="edge",rule="edge/trial=*"}'), 1)

    def test_without_a_limit_requests_pass(self):
        for message in (request(user="root"), request(unknown="x"), request(domain="no", user="a")):
            response = self.call(message)
            self.assertEqual(response.overall_code, OK)
            self.assertFalse(response.statuses[0].HasField("current_limit"))

    def test_the_limit_of_a_request_replaces_that_of_the_rule(self):
        message = request(user="override")
        limit = message.descriptors[0].limit
        limit.requests_per_unit, limit.unit, limit.unit_multiplier.value = 2, Unit.HOUR, 3
        status = self.check(message, OK, [1]).statuses[0]
        self.assertEqual((status.current_limit.requests_per_unit, status.current_limit.unit,
                          status.current_limit.unit_multiplier.value), (2, Unit.HOUR, 3))
        self.check(message, OK, [0])
        self.check(message, OVER_LIMIT, [0])
        self.check(request(user="override"), OK, [9])

    def test_requests_that_are_wrong_are_refused(self):
        invalid = grpc.StatusCode.INVALID_ARGUMENT
        call = self.limits.ShouldRateLimit
        self.assert_error(invalid, "domain", call, request(domain="", user="a"))
        self.assert_error(invalid, "no descriptors", call, served.rls.RateLimitRequest(domain="edge"))


class Kuadrant(Calls):
    def test_a_check_charges_nothing_and_a_report_charges_in_any_case(self):
        message = request(user="kuadrant")
        message.hits_addend = 8
        for _ in range(2):
            response = self.kuadrant.CheckRateLimit(message)
            self.assertEqual((response.overall_code, len(response.statuses)), (OK, 0))
        for _ in range(2):
            self.assertEqual(self.kuadrant.Report(message).overall_code, OK)
        self.assertEqual(self.kuadrant.CheckRateLimit(message).overall_code, OVER_LIMIT)
        status = self.check(request(0, user="kuadrant"), OVER_LIMIT, [0]).statuses[0]
        self.assertAlmostEqual(status.duration_until_reset.seconds, 7 * 8640, delta=5)


class Transport(Calls):
    def raw(self, method, channel=None):
        """A call of bytes."""
        return (channel or self.channel).unary_unary(method)

    def test_compressed_requests_are_read(self):
        with self.service.channel(compression=grpc.Compression.Gzip) as channel:
            call = served.limits(channel).ShouldRateLimit
            long = request(user="compressed" + "x" * 200)
            self.assertEqual(call(long, timeout=served.CALL_SECONDS).statuses[0].limit_remaining, 9)
        self.check(long, OK, [8])

    def test_a_request_that_grows_when_decompressed_is_refused(self):
        self.assertLess(len(gzip.compress(b"\0" * 10_000_000)), 65536)
        with self.service.channel(compression=grpc.Compression.Gzip) as channel:
            method = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
            self.assert_error(grpc.StatusCode.RESOURCE_EXHAUSTED, "", self.raw(method, channel),
                              b"\0" * 10_000_000)
            response = served.limits(channel).ShouldRateLimit(request(user="after"), timeout=10)
            self.assertEqual(response.overall_code, OK)

    def test_a_large_request_is_refused(self):
        self.assert_error(grpc.StatusCode.RESOURCE_EXHAUSTED, "1048576", self.limits.ShouldRateLimit,
                          request(user="x" * 2_000_000))

    def test_unknown_methods_and_bytes_that_are_no_message(self):
        self.assert_error(grpc.StatusCode.UNIMPLEMENTED, "", self.raw("/no.Service/Method"), b"")
        self.assert_error(grpc.StatusCode.INVALID_ARGUMENT, "not a RateLimitRequest", self.raw(
            "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"), b"\xff\xff")

    def test_bytes_that_are_no_text_leave_no_line_in_the_log(self):
        self.assert_error(grpc.StatusCode.INVALID_ARGUMENT, "", self.raw(
            "/grpc.health.v1.Health/Check"), b"\x0a\x02\xff\xfe")
        self.assertNotIn("protobuf", self.service.log())

    def test_many_calls_at_the_same_time(self):
        futures = [self.limits.ShouldRateLimit.future(request(user="many"), timeout=10)
                   for _ in range(2000)]
        codes = [future.result().overall_code for future in futures]
        self.assertEqual((codes.count(OK), codes.count(OVER_LIMIT)), (10, 1990))


class Health(Calls):
    def test_check_and_list(self):
        serving = health_pb2.HealthCheckResponse.SERVING
        for name in ("", *SERVICES):
            response = self.health.Check(health_pb2.HealthCheckRequest(service=name))
            self.assertEqual(response.status, serving, name)
        self.assert_error(grpc.StatusCode.NOT_FOUND, "no.Such", self.health.Check,
                          health_pb2.HealthCheckRequest(service="no.Such"))
        listed = self.health.List(health_pb2.HealthListRequest()).statuses
        self.assertLessEqual({"", *SERVICES - {"grpc.health.v1.Health"}}, set(listed))
        self.assertEqual({status.status for status in listed.values()}, {serving})

    def test_watch_reports_the_status_at_once_and_then_waits(self):
        for name, status in (("", "SERVING"), ("no.Such", "SERVICE_UNKNOWN")):
            watch = self.health.Watch(health_pb2.HealthCheckRequest(service=name), timeout=1)
            began = time.monotonic()
            self.assertEqual(next(watch).status, health_pb2.HealthCheckResponse.ServingStatus.Value(status))
            self.assertLess(time.monotonic() - began, 0.9)
            with self.assertRaises(grpc.RpcError) as ended:
                next(watch)
            self.assertEqual(ended.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)


class Reflection(Calls):
    def test_a_client_without_the_messages_can_call(self):
        database = ProtoReflectionDescriptorDatabase(self.channel)
        self.assertEqual(set(database.get_services()), SERVICES)
        pool = descriptor_pool.DescriptorPool(database)
        service = pool.FindServiceByName("envoy.service.ratelimit.v3.RateLimitService")
        method = service.FindMethodByName("ShouldRateLimit")
        message = message_factory.GetMessageClass(method.input_type)(domain="edge")
        message.descriptors.add().entries.add(key="user", value="reflected")
        call = self.channel.unary_unary(
            f"/{service.full_name}/{method.name}", message_factory.GetMessageClass(
                method.input_type).SerializeToString,
            message_factory.GetMessageClass(method.output_type).FromString)
        self.assertEqual(call(message).statuses[0].limit_remaining, 9)

    def test_each_service_is_described(self):
        pool = descriptor_pool.DescriptorPool(ProtoReflectionDescriptorDatabase(self.channel))
        for name in SERVICES:
            self.assertGreater(len(pool.FindServiceByName(name).methods), 0)

    def test_what_is_not_there_is_not_found(self):
        database = ProtoReflectionDescriptorDatabase(self.channel)
        with self.assertRaises(KeyError):
            database.FindFileByName("no/such.proto")
        with self.assertRaises(KeyError):
            database.FindFileContainingSymbol("no.Such")
        with self.assertRaises(KeyError):  # the name is cut between characters
            database.FindFileContainingSymbol("a" * 198 + "\u00e9\u00e9")


if __name__ == "__main__":
    unittest.main(verbosity=2)
