#!/usr/bin/env python3
"""`weir serve` with TLS: certificates of both sides, their reload, and peers without HTTP/2.

usage: tls_test.py WEIR [UNITTEST_ARGUMENT...]
"""

import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.error

sys.dont_write_bytecode = True  # the sources stay as they are
import served  # noqa: E402
from authority import Authority  # noqa: E402
from proxy import Envoy  # noqa: E402
from served import OK, Served, engine, request  # noqa: E402
import grpc  # noqa: E402

WEIR = os.path.abspath(sys.argv.pop(1))
RULES = "domains: {edge: {rules: [{match: user, limits: {requests: 10/day}}]}}"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"  # and no settings


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.ours, cls.other = Authority(cls.folder, "ours"), Authority(cls.folder, "other")
        cls.client, cls.stranger = cls.ours.sign("client"), cls.other.sign("client")
        cls.server = cls.ours.sign("server")

    def serve(self, *options):
        return self.enterContext(Served(WEIR, RULES, "--tls-certificate", self.server[0], "--tls-key",
                                        self.server[1], *options))

    def serve_clients(self):
        return self.serve("--tls-client-ca", self.ours.certificate)

    def call(self, service, credentials):
        with service.channel(credentials) as channel:
            return served.limits(channel).ShouldRateLimit(request(user="a"), timeout=5).overall_code

    def assert_refused(self, service, credentials):
        with self.assertRaises(grpc.RpcError) as refused:
            self.call(service, credentials)
        self.assertEqual(refused.exception.code(), grpc.StatusCode.UNAVAILABLE)

    def s_client(self, service, *words):
        done = subprocess.run(["openssl", "s_client", "-connect", service.target, *words],
                              input="", text=True, errors="replace", capture_output=True,
                              check=False, timeout=10)
        return done.stdout + done.stderr

    def read_without_alpn(self, service):
        """What the server sends to a peer that speaks HTTP/2 but does not say so; b"": it closes."""
        context = ssl.create_default_context(cafile=self.ours.certificate)
        plain = socket.create_connection(("127.0.0.1", service.port), 5)
        with context.wrap_socket(plain, server_hostname="localhost") as peer:
            try:
                peer.sendall(PREFACE)
                return peer.recv(100)
            except (ssl.SSLEOFError, ConnectionResetError, BrokenPipeError):
                return b""

    def test_a_client_that_trusts_the_server(self):
        service = self.serve()
        self.assertEqual(self.call(service, self.ours.credentials()), OK)
        self.assert_refused(service, self.other.credentials())

    def test_certificates_of_clients(self):
        service = self.serve_clients()
        self.assertEqual(self.call(service, self.ours.credentials(*self.client)), OK)
        self.assert_refused(service, self.ours.credentials())
        self.assert_refused(service, self.ours.credentials(*self.stranger))
        self.assertEqual(self.call(service, self.ours.credentials(*self.client)), OK)
        self.assertNotIn("PRIVATE KEY", service.log())

    def test_envoy_with_a_certificate(self):
        service = self.serve_clients()
        for (certificate, key), status in ((self.client, 200), (self.stranger, 503)):
            files = {"client.pem": certificate, "client.key": key, "ca.pem": self.ours.certificate,
                     "weir.example": "localhost"}
            with Envoy(service.port, tls=files) as envoy:
                self.assertEqual(envoy.get(envoy.closed_port, user="a")[0], status)

    def test_peers_without_http2_and_old_versions_are_refused(self):
        service = self.serve()
        self.assertIn("ALPN protocol: h2", self.s_client(service, "-alpn", "h2"))
        self.assertIn("alert no application protocol", self.s_client(service, "-alpn", "http/1.1"))
        self.assertEqual(self.read_without_alpn(service), b"")
        self.assertRegex(self.s_client(service, "-alpn", "h2", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"),
                         "alert protocol version")
        self.assertEqual(self.call(service, self.ours.credentials()), OK)

    def test_plaintext_is_refused(self):
        service = self.serve()
        self.assert_refused(service, None)
        with socket.create_connection(("127.0.0.1", service.port), 5) as plain:
            plain.sendall(PREFACE)
            self.assertNotIn(b"\4\0\0\0\0\0", plain.recv(100))

    def test_a_new_certificate_is_used_after_sighup(self):
        service = self.serve()
        with service.channel(self.ours.credentials()) as old:
            limits = served.limits(old)
            limits.ShouldRateLimit(request(user="a"), timeout=5)
            originals = [path.read_bytes() for path in self.server]
            self.addCleanup(lambda: [path.write_bytes(text)
                                     for path, text in zip(self.server, originals)])
            for path, new in zip(self.server, self.other.sign("server")):
                shutil.copy(new, path)
            service.process.send_signal(signal.SIGHUP)
            engine.wait_until(lambda: self.trusts(service, self.other), "the certificate is new", 5)
            self.assert_refused(service, self.ours.credentials())
            limits.ShouldRateLimit(request(user="a"), timeout=5)
        self.server[1].write_text("no key")
        service.process.send_signal(signal.SIGHUP)
        engine.wait_until(lambda: "service.tls_refused" in service.log(), "the key is refused", 5)
        self.assertNotIn("no key", service.log())
        self.assertTrue(self.trusts(service, self.other))

    def trusts(self, service, authority):
        try:
            return self.call(service, authority.credentials()) == OK
        except grpc.RpcError:
            return False

    def test_the_pages_have_tls_if_asked_for_and_want_no_client_certificate(self):
        service = self.serve("--admin-tls", "--tls-client-ca", self.ours.certificate)
        trust = ssl.create_default_context(cafile=str(self.ours.certificate))
        trust.check_hostname = False  # the certificate is localhost's, the address is 127.0.0.1
        self.assertEqual(service.page("/readyz", tls=trust), (200, "ready\n"))
        stranger = ssl.create_default_context(cafile=str(self.other.certificate))
        with self.assertRaisesRegex(urllib.error.URLError, "CERTIFICATE_VERIFY_FAILED"):
            service.page("/readyz", tls=stranger)
        with self.assertRaises(OSError):
            service.page("/readyz")

    def test_other_machines_are_not_served_without_tls(self):
        done = subprocess.run([WEIR, "--store", "memory:", "serve", "--grpc", "0.0.0.0:0", "--admin",
                               "off"], text=True, capture_output=True, check=False, timeout=10)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, "other machines can reach .*without TLS")


if __name__ == "__main__":
    unittest.main(verbosity=2)
