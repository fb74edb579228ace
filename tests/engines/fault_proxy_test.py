#!/usr/bin/env python3
"""The proxy does to requests what it says, and counts them; an engine that is killed comes back.

usage: fault_proxy_test.py
"""

import concurrent.futures
import http.client
import http.server
import socket
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
import engine  # noqa: E402
import fault_proxy  # noqa: E402


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers with what was asked."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append(body)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Proxy(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
        self.server.daemon_threads = True
        self.server.seen = []
        self.server.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(self.server.shutdown)
        self.proxy = self.enterContext(fault_proxy.FaultProxy(self.server))

    def connect(self, timeout=10):
        connection = http.client.HTTPConnection(*self.proxy.server.server_address, timeout=timeout)
        self.addCleanup(connection.close)
        return connection

    def ask(self, body=b'{"a": "bcd"}', connection=None):
        connection = connection or self.connect()
        connection.request("POST", "/", body, {"X-Amz-Target": "DynamoDB_20120810.PutItem"})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def test_passes_on_and_counts(self):
        connection = self.connect()
        for body in (b"1", b"", b"x" * 100_000):
            self.assertEqual(self.ask(body, connection), (200, body))
        self.assertEqual(self.proxy.take_counts(), {"PutItem": 3, "peak": 1, "turns": 3})
        self.assertEqual(self.proxy.take_counts(), {"peak": 0, "turns": 0})

    def test_answers_instead_of_the_engine(self):
        connection = self.connect()
        self.proxy.set_mode("status 500")
        self.assertEqual(self.ask(connection=connection)[0], 500)
        self.proxy.set_mode("error ThrottlingException")
        status, body = self.ask(connection=connection)
        self.assertEqual((status, b"#ThrottlingException" in body), (400, True))
        self.assertEqual(self.server.seen, [])
        self.proxy.set_mode("pass")
        self.assertEqual(self.ask(connection=connection)[0], 200)

    def test_answers_nothing(self):
        self.proxy.set_mode("swallow")
        with self.assertRaises(socket.timeout):
            self.ask(connection=self.connect(timeout=0.1))
        self.proxy.set_mode("reset")
        with self.assertRaises(ConnectionResetError):
            self.ask()
        self.assertEqual(self.server.seen, [])

    def test_loses_the_answer(self):
        self.proxy.set_mode("lose")
        with self.assertRaises(ConnectionResetError):
            self.ask(b"1")
        self.proxy.set_mode("cut")
        with self.assertRaises(http.client.IncompleteRead):
            self.ask(b"23")
        self.assertEqual(self.server.seen, [b"1", b"23"])

    def test_changes_one_bit(self):
        self.proxy.set_mode("tamper")
        _, changed = self.ask(b'{"a": "bcd"}')
        self.assertEqual(changed, b'{"a": "ccd"}')

    def test_delays(self):
        self.proxy.set_mode("delay 50")
        begun = time.monotonic()
        self.ask()
        self.assertGreaterEqual(time.monotonic() - begun, 0.05)

    def test_holds_until_all_are_here(self):
        self.proxy.set_mode("hold 3")
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            asked = [pool.submit(self.ask) for _ in range(3)]
            self.assertEqual([answer.result()[0] for answer in asked], [200] * 3)
        self.assertEqual(self.proxy.take_counts(), {"PutItem": 3, "peak": 3, "turns": 1})

    def test_refuses_what_is_no_mode(self):
        for text in ("", "status", "pass 1", "explode", "delay soon"):
            with self.subTest(text), self.assertRaises(ValueError):
                self.proxy.set_mode(text)
        self.assertEqual(self.ask()[0], 200)


class Killed(unittest.TestCase):
    def test_an_engine_comes_back_where_it_was_with_what_it_had(self):
        with engine.Dynoxide(durable=True) as running, fault_proxy.FaultProxy(running) as proxy:
            engine.call_dynamodb(proxy.url, "CreateTable", {
                "TableName": "table", "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}]})
            running.kill()
            with self.assertRaises(OSError):
                engine.call_dynamodb(running.url, "ListTables", {})
            running.start_again()
            self.assertEqual(engine.call_dynamodb(proxy.url, "ListTables", {})["TableNames"],
                             ["table"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
