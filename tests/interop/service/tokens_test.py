#!/usr/bin/env python3
"""`weir serve` with bearer tokens, from gRPC's Python client and from Envoy.

usage: tokens_test.py WEIR [UNITTEST_ARGUMENT...]
"""

import datetime
import hashlib
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
import served  # noqa: E402
from proxy import RULES, Envoy  # noqa: E402
from served import OK, Served, engine, request  # noqa: E402
import grpc  # noqa: E402
from grpc_health.v1 import health_pb2  # noqa: E402

WEIR = os.path.abspath(sys.argv.pop(1))
RIGHT, ADMIN, EXPIRED, NEW = "right-6b1f", "admin-6b1f", "expired-6b1f", "new-6b1f"


def entry(name, token, scopes="[decide]", expires=None):
    digest = hashlib.sha256(token.encode()).hexdigest()
    line = f"  - {{name: {name}, sha256: {digest}, scopes: {scopes}"
    return line + (f", expires: {expires.isoformat(timespec='seconds')}Z}}" if expires else "}")


def tokens_file(*entries):
    return "\n".join(["tokens:", *entries, ""])


def days(count):
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    return now + datetime.timedelta(days=count)


class NoTokens(unittest.TestCase):
    def test_a_file_that_lets_nobody_ask_is_a_warning(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/tokens.yaml", "w") as file:
                file.write("tokens: []\n")
            with Served(WEIR, RULES, "--tokens", folder + "/tokens.yaml") as service:
                engine.wait_until(lambda: "warning service.no_tokens" in service.log(),
                                  "the file is reported", 5)


class Tokens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Served(WEIR, RULES)
        cls.file = cls.enterClassContext(tempfile.TemporaryDirectory()) + "/tokens.yaml"
        cls.write(entry("envoy", RIGHT, expires=days(1)), entry("operator", ADMIN, "[admin]"),
                  entry("old", EXPIRED, expires=days(-1)))
        cls.service.options = ("--tokens", cls.file)
        cls.enterClassContext(cls.service)
        cls.channel = cls.enterClassContext(cls.service.channel())

    @classmethod
    def write(cls, *entries):
        with open(cls.file, "w") as file:
            file.write(tokens_file(*entries))

    def code(self, authorization, call=None, message=None):
        metadata = [] if authorization is None else [("authorization", authorization)]
        call = call or served.limits(self.channel).ShouldRateLimit
        try:
            call(message or request(user="a"), timeout=5, metadata=metadata)
            return OK
        except grpc.RpcError as error:
            self.assertNotIn("6b1f", error.details())
            return error.code()

    def test_only_a_valid_token_with_the_scope_decides(self):
        unauthenticated = grpc.StatusCode.UNAUTHENTICATED
        for call in (served.limits(self.channel).ShouldRateLimit,
                     served.kuadrant(self.channel).CheckRateLimit,
                     served.kuadrant(self.channel).Report):
            for authorization, code in (
                    (f"Bearer {RIGHT}", OK), (None, unauthenticated), ("", unauthenticated),
                    (RIGHT, unauthenticated), ("Bearer", unauthenticated),
                    (f"Basic {RIGHT}", unauthenticated), ("Bearer wrong", unauthenticated),
                    (f"Bearer {RIGHT[:-1]}", unauthenticated),
                    (f"Bearer {RIGHT}x", unauthenticated),
                    (f"Bearer {EXPIRED}", unauthenticated),
                    (f"Bearer {ADMIN}", grpc.StatusCode.PERMISSION_DENIED)):
                with self.subTest(authorization=authorization):
                    self.assertEqual(self.code(authorization, call), code)
        self.assertNotIn("6b1f", self.service.log())
        self.assertIn("service.denied", self.service.log())

    def test_a_refused_caller_is_not_charged(self):
        look = lambda: served.limits(self.channel).ShouldRateLimit(  # noqa: E731
            request(0, user_tokens="z"), metadata=[("authorization", f"Bearer {RIGHT}")], timeout=5)
        self.code("Bearer wrong", message=request(5, user_tokens="z"))
        self.assertEqual(look().statuses[0].limit_remaining, 50_000)
        self.code(f"Bearer {RIGHT}", message=request(5, user_tokens="z"))
        self.assertEqual(look().statuses[0].limit_remaining, 49_995)

    def test_metrics_need_a_token_with_the_scope_to_administer(self):
        for token, status in ((ADMIN, 200), (RIGHT, 403), ("wrong", 401), (EXPIRED, 401), (None, 401)):
            with self.subTest(token=token):
                found, text = self.service.page("/metrics", token)
                self.assertEqual(found, status)
                self.assertEqual("weir_service" in text, status == 200)
                self.assertNotIn("6b1f", text)
        for probe in ("/healthz", "/readyz"):
            self.assertEqual(self.service.page(probe)[0], 200)

    def test_health_needs_no_token(self):
        self.assertEqual(self.code(None, served.health(self.channel).Check,
                                   health_pb2.HealthCheckRequest()), OK)

    def test_envoy_sends_its_token(self):
        for token, status in ((RIGHT, 200), ("wrong", 503)):
            with Envoy(self.service.port, token=token) as envoy:
                self.assertEqual(envoy.get(envoy.closed_port, user=f"envoy-{status}")[0], status)


class Ids(unittest.TestCase):
    def test_the_log_has_the_id_that_envoy_gave_the_request(self):
        Tokens.setUpClass()
        self.addCleanup(Tokens.doClassCleanups)
        with Envoy(Tokens.service.port, token="wrong") as envoy:
            self.assertEqual(envoy.get(envoy.closed_port, user="a")[0], 503)
        self.assertRegex(Tokens.service.log(),
                         r"service\.denied .*request_id=[0-9a-f]{8}-[0-9a-f-]{27} ")


class Reload(unittest.TestCase):
    def test_tokens_are_replaced_and_a_bad_file_keeps_them(self):
        Tokens.setUpClass()
        self.addCleanup(Tokens.doClassCleanups)
        test = Tokens()
        self.assertEqual(test.code(f"Bearer {RIGHT}"), OK)
        Tokens.write(entry("envoy", NEW))
        engine.wait_until(lambda: test.code(f"Bearer {NEW}") == OK, "the token is new", 5)
        self.assertEqual(test.code(f"Bearer {RIGHT}"), grpc.StatusCode.UNAUTHENTICATED)
        Tokens.write("  - {name: envoy, secret: plain-6b1f}")
        engine.wait_until(lambda: "tokens.yaml" in test.service.log(), "the file is refused", 5)
        self.assertEqual(test.code(f"Bearer {NEW}"), OK)
        self.assertNotIn("plain-6b1f", test.service.log())


if __name__ == "__main__":
    unittest.main(verbosity=2)
