#!/usr/bin/env python3
"""grpcurl, which has no messages of its own, calls `weir serve` by reflection.

usage: grpcurl_test.py WEIR [UNITTEST_ARGUMENT...]
"""

import json
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
import served  # noqa: E402
from served import Served, engine  # noqa: E402

WEIR = os.path.abspath(sys.argv.pop(1))
PROGRAM = engine.ENGINES / "go/grpcurl"
RULES = served.HERE / "go/rules.yaml"
RATE_LIMITS = "envoy.service.ratelimit.v3.RateLimitService"
METHODS = {
    RATE_LIMITS: ["ShouldRateLimit"],
    "kuadrant.service.ratelimit.v1.RateLimitService": ["CheckRateLimit", "Report"],
    "grpc.health.v1.Health": ["Check", "List", "Watch"],
    "grpc.reflection.v1.ServerReflection": ["ServerReflectionInfo"],
    "grpc.reflection.v1alpha.ServerReflection": ["ServerReflectionInfo"]}
# The exit code of a call that fails is this and the code of its status.
FAILED_CALL = 64
INVALID_ARGUMENT, NOT_FOUND = 3, 5


def descriptor(key, value, **fields):
    return {"entries": [{"key": key, "value": value}], **fields}


def request(*descriptors, **fields):
    return {"domain": "edge", "descriptors": descriptors, **fields}


def of_user(code, remaining=None, reset=None):
    """A status of the rule of users. A remainder of 0 is left out, like all default values."""
    limit = {"name": "edge/user=*", "requestsPerUnit": 10, "unit": "DAY"}
    status = {"code": code, "currentLimit": limit}
    if remaining is not None:
        status["limitRemaining"] = remaining
    if reset is not None:
        status["durationUntilReset"] = reset
    return status


class Grpcurl(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = cls.enterClassContext(Served(WEIR, RULES))

    def run_program(self, *words, options=(), exits=0):
        command = [PROGRAM, "-plaintext", *options, self.service.target, *words]
        done = subprocess.run(command, text=True, capture_output=True, check=False,
                              timeout=served.CALL_SECONDS)
        self.assertEqual(done.returncode, exits, done.stdout + done.stderr)
        return done

    def lines(self, *words):
        return self.run_program(*words).stdout.splitlines()

    def call(self, method, message):
        return json.loads(self.run_program(method, options=["-d", json.dumps(message)]).stdout)

    def check(self, message, overall_code, *statuses):
        self.assertEqual(self.call(f"{RATE_LIMITS}/ShouldRateLimit", message),
                         {"overallCode": overall_code, "statuses": list(statuses)})

    def assert_fails(self, method, message, code, text, reason=None):
        done = self.run_program(method, options=["-format-error", "-d", json.dumps(message)],
                                exits=FAILED_CALL + code)
        expected = {"code": code, "message": text}
        if reason:
            expected["details"] = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
                                    "domain": "weir", "reason": reason}]
        self.assertEqual(json.loads(done.stderr), expected)


class Reflection(Grpcurl):
    def test_services_and_methods_are_listed(self):
        self.assertEqual(self.lines("list"), sorted(METHODS))
        for service, methods in METHODS.items():
            self.assertEqual(self.lines("list", service), [f"{service}.{name}" for name in methods])

    def test_a_method_is_described(self):
        method = f"{RATE_LIMITS}.ShouldRateLimit"
        self.assertEqual(self.lines("describe", method), [
            f"{method} is a method:",
            "rpc ShouldRateLimit ( .envoy.service.ratelimit.v3.RateLimitRequest ) "
            "returns ( .envoy.service.ratelimit.v3.RateLimitResponse );"])

    def test_messages_and_what_they_import_are_described(self):
        request_type = "envoy.service.ratelimit.v3.RateLimitRequest"
        self.assertEqual(self.lines("describe", request_type), [
            f"{request_type} is a message:", "message RateLimitRequest {", "  string domain = 1;",
            "  repeated .envoy.extensions.common.ratelimit.v3.RateLimitDescriptor descriptors = 2;",
            "  uint32 hits_addend = 3;", "}"])
        self.assertIn("  optional .google.protobuf.UInt64Value hits_addend = 3;", self.lines(
            "describe", "envoy.extensions.common.ratelimit.v3.RateLimitDescriptor"))
        self.assertEqual(self.lines("describe", "envoy.type.v3.RateLimitUnit"), [
            "envoy.type.v3.RateLimitUnit is an enum:", "enum RateLimitUnit {", "  UNKNOWN = 0;",
            "  SECOND = 1;", "  MINUTE = 2;", "  HOUR = 3;", "  DAY = 4;", "  MONTH = 5;",
            "  YEAR = 6;", "}"])
        self.assertIn("  int64 seconds = 1;", self.lines("describe", "google.protobuf.Duration"))

    def test_what_is_not_there_is_not_found(self):
        done = self.run_program("describe", "no.Such", exits=1)
        self.assertIn("Symbol not found: no.Such", done.stderr)


class RateLimits(Grpcurl):
    """Names in the output are those of protobuf's JSON, as those of a server in Go are."""

    def test_the_statuses_of_a_response(self):
        user = descriptor("user", "statuses")
        path = {"code": "OVER_LIMIT", "limitRemaining": 3,
                "currentLimit": {"name": "edge/path=*", "requestsPerUnit": 3, "unit": "DAY"}}
        self.check(request(user), "OK", of_user("OK", 9, "8640s"))
        self.check(request(descriptor("path", "/", hitsAddend=4), descriptor("unknown", "")),
                   "OVER_LIMIT", path, {"code": "OK"})

    def test_the_hits_of_a_request_and_of_a_descriptor(self):
        look = descriptor("user", "hits", hitsAddend=0)
        empty = of_user("OK", reset="86400s")
        self.check(request(look, hitsAddend=3), "OK", of_user("OK", 10, "0s"))
        self.check(request(descriptor("user", "hits", hitsAddend=10)), "OK", empty)
        self.check(request(descriptor("user", "of the request"), hitsAddend=10), "OK", empty)
        self.check(request(descriptor("user", "hits", hitsAddend=10, isNegativeHits=True)), "OK",
                   {"code": "OK"})
        self.check(request(look), "OK", of_user("OK", 10, "0s"))

    def test_the_limit_of_a_request(self):
        limit = {"requestsPerUnit": 2, "unit": "HOUR", "unitMultiplier": 3}
        self.check(request(descriptor("user", "limit", limit=limit)), "OK", {
            "code": "OK", "limitRemaining": 1, "durationUntilReset": "5400s",
            "currentLimit": {"name": "edge/user=*", **limit}})

    def test_a_request_that_is_wrong_is_refused(self):
        self.assert_fails(f"{RATE_LIMITS}/ShouldRateLimit", {"domain": "edge"}, INVALID_ARGUMENT,
                          "the request has no descriptors", "REQUEST_INVALID")


class Health(Grpcurl):
    def test_check_and_list(self):
        check = "grpc.health.v1.Health/Check"
        for service in ("", *METHODS):
            self.assertEqual(self.call(check, {"service": service}), {"status": "SERVING"})
        self.assert_fails(check, {"service": "no.Such"}, NOT_FOUND, "there is no service 'no.Such'")
        self.assertEqual(self.call("grpc.health.v1.Health/List", {}), {
            "statuses": {service: {"status": "SERVING"} for service in ("", *METHODS)}})


if __name__ == "__main__":
    unittest.main(verbosity=2)
