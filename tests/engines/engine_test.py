#!/usr/bin/env python3
"""The engines start, answer, and are gone afterwards, however it ends.

usage: engine_test.py
"""

import concurrent.futures
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import urllib.error

sys.dont_write_bytecode = True  # the sources stay as they are
import engine  # noqa: E402

RUN = pathlib.Path(__file__).with_name("run.py")
ITEM = {"PK": {"S": "a"}, "ttl": {"N": "1"}}


def create_table(running):
    engine.call_dynamodb(running.url, "CreateTable", {
        "TableName": "table", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}]})


def is_alive(pid):
    """A process that ended and waits for its parent to ask counts as gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(pid):
    told = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], text=True, capture_output=True,
                          check=False).stdout
    return [int(child) for child in told.split()]


class Servers(unittest.TestCase):
    def test_dynoxide_keeps_items_until_it_is_told_to_sweep(self):
        with engine.Dynoxide() as running:
            create_table(running)
            engine.call_dynamodb(running.url, "UpdateTimeToLive", {
                "TableName": "table",
                "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True}})
            engine.call_dynamodb(running.url, "PutItem", {"TableName": "table", "Item": ITEM})
            self.assertEqual(self.count(running), 1)
            running.sweep_ttl()
            self.assertEqual(self.count(running), 0)

    def count(self, running):
        return engine.call_dynamodb(running.url, "Scan", {"TableName": "table"})["Count"]

    def test_two_at_once_share_nothing(self):
        with engine.Dynoxide() as one, engine.Dynoxide() as other:
            create_table(one)
            self.assertEqual(engine.call_dynamodb(other.url, "ListTables", {})["TableNames"], [])

    def test_the_log_goes_with_the_block(self):
        with engine.Dynoxide() as running:
            self.assertIn("listening", running.log_tail())
            folder, process = running.folder, running.process
        self.assertFalse(folder.exists())
        self.assertIsNotNone(process.returncode)

    def test_they_listen_on_the_loopback_alone(self):
        with engine.Dynoxide() as running:
            ports = {int(running.url.rsplit(":", 1)[1]), *running.ports}
            self.assertEqual(ports, {port for address, port in listening() if port in ports
                                     and address == "127.0.0.1"})
            self.assertEqual([address for address, port in listening()
                              if port in ports and address != "127.0.0.1"], [])

    def test_moto_takes_what_its_user_signed_and_nothing_else(self):
        ask = ("import boto3; print(boto3.client('dynamodb').list_tables()['TableNames'])")
        with engine.Moto(verify=True, actions=["dynamodb:ListTables"]) as running:
            self.assertEqual(self.python(running, ask), (0, "[]\n"))
            self.assertIn("SignatureDoesNotMatch",
                          self.python(running, ask, AWS_SECRET_ACCESS_KEY="other")[1])
            self.assertIn("InvalidClientTokenId",
                          self.python(running, ask, AWS_ACCESS_KEY_ID="other")[1])
            self.assertIn("AccessDenied", self.python(
                running, "import boto3; boto3.client('dynamodb').delete_table(TableName='abc')")[1])
            with self.assertRaises(urllib.error.HTTPError):
                engine.call_dynamodb(running.url, "ListTables", {})

    def test_moto_loses_no_update(self):
        class Eager(engine.Moto):
            """Its threads take turns a thousand times more often than they would."""

            def command(self, port):
                return [engine.PYTHON, "-c", "import runpy, sys; sys.setswitchinterval(1e-6); "
                        "runpy.run_path(sys.argv.pop(1), run_name='__main__')",
                        *super().command(port)[1:]]

        item = {"PK": {"S": "a"}, "n": {"N": "0"}, "list": {"L": [{"N": "1"}] * 300}}
        with Eager() as running:
            create_table(running)
            engine.call_dynamodb(running.url, "PutItem", {"TableName": "table", "Item": item})
            with concurrent.futures.ThreadPoolExecutor(8) as threads:
                list(threads.map(lambda _: self.add_one(running), range(200)))
            found = engine.call_dynamodb(running.url, "GetItem", {
                "TableName": "table", "Key": {"PK": {"S": "a"}}})["Item"]
            self.assertEqual(found["n"], {"N": "200"})

    def add_one(self, running):
        engine.call_dynamodb(running.url, "UpdateItem", {
            "TableName": "table", "Key": {"PK": {"S": "a"}}, "UpdateExpression": "ADD n :n",
            "ExpressionAttributeValues": {":n": {"N": "1"}}})

    def python(self, running, program, **changed):
        done = subprocess.run([engine.PYTHON, "-c", program], text=True, capture_output=True,
                              check=False, env=running.environment() | changed)
        return done.returncode, done.stdout + done.stderr

    def test_what_does_not_start_says_why(self):
        class Broken(engine.Dynoxide):
            def command(self, port, mcp_port):
                return ["sh", "-c", "echo no such luck; exit 3"]

        class Missing(engine.Dynoxide):
            needs = pathlib.Path("/nowhere/default/stamp")

        # A folder of its own: other tests start and stop engines at the same time.
        with (tempfile.TemporaryDirectory() as folder,
              unittest.mock.patch.object(tempfile, "tempdir", folder)):
            with self.assertRaisesRegex(engine.Failed, "Broken does not start: no such luck"):
                Broken().__enter__()
            with self.assertRaisesRegex(engine.Failed,
                                        "not installed: run tests/engines/install.py"):
                Missing().__enter__()
            self.assertEqual(os.listdir(folder), [])

    def test_a_server_that_would_listen_everywhere_is_kept_in(self):
        serve = ("import socket; s = socket.create_server(({!r}, 0), family=socket.{}, "
                 "dualstack_ipv6={}); print(s.getsockname()[1], flush=True); input()")
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ) | engine.loopback_only(pathlib.Path(folder))
            for everywhere in (("0.0.0.0", "AF_INET", False), ("::", "AF_INET6", True)):
                server = engine.start([sys.executable, "-c", serve.format(*everywhere)],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                      env=environment)
                port = int(server.stdout.readline())
                self.assertEqual([address for address, of in listening() if of == port],
                                 ["127.0.0.1"])
                server.communicate("\n")

    def test_dynamodb_local_answers_where_it_is_installed(self):
        if not engine.DynamoDbLocal.needs.exists():
            self.skipTest("install.py dynamodb-local installs it")
        with engine.DynamoDbLocal() as running:
            port = int(running.url.rsplit(":", 1)[1])
            create_table(running)
            self.assertEqual([address for address, of in listening() if of == port],
                             ["127.0.0.1"])

    def test_the_kinesis_engines_take_records_on_the_loopback_alone(self):
        for make in (engine.KinesisLocal, engine.Ferrokinesis):
            if not make.needs.exists():
                continue  # install.py ferrokinesis installs that one
            with self.subTest(make.__name__), make() as running:
                running.create_stream("stream", 2)
                shards = engine.call_kinesis(running.url, "ListShards", {"StreamName": "stream"})
                self.assertEqual(len(shards["Shards"]), 2)
                put = engine.call_kinesis(running.url, "PutRecord", {
                    "StreamName": "stream", "PartitionKey": "a", "Data": "eA=="})
                self.assertEqual(put["ShardId"], "shardId-000000000000")
                self.assertEqual({address for address, of in listening() if of in running.ports},
                                 {"127.0.0.1"})


def listening():
    """[(address, port)] of all sockets that listen, by the kernel's own table."""
    found = []
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            address, port = local.split(":")
            if state == "0A":
                loopback = address.endswith("0100007F")
                found.append(("127.0.0.1" if loopback else address, int(port, 16)))
    return found


class Runner(unittest.TestCase):
    def run_beside(self, *words):
        return subprocess.run([sys.executable, RUN, *words], text=True, capture_output=True,
                              check=False)

    def test_the_exit_code_is_passed_on(self):
        self.assertEqual(self.run_beside("--", "true").returncode, 0)
        done = self.run_beside("--", "sh", "-c", "exit 7")
        self.assertEqual(done.returncode, 7)
        self.assertIn("listening", done.stderr)
        self.assertEqual(self.run_beside("--", "sh", "-c", "kill -9 $$").returncode, 128 + 9)
        self.assertEqual(self.run_beside("--", "/no/such/program").returncode, 1)

    def test_the_command_sees_the_engine_and_no_setting_of_the_caller(self):
        os.environ["AWS_PROFILE"] = os.environ["AWS_SESSION_TOKEN"] = "mine"
        self.addCleanup(os.environ.pop, "AWS_PROFILE")
        self.addCleanup(os.environ.pop, "AWS_SESSION_TOKEN")
        seen = dict(line.split("=", 1)
                    for line in self.run_beside("--", "env").stdout.splitlines() if "=" in line)
        self.assertRegex(seen["WEIR_TEST_DYNAMODB"], r"\Ahttp://127\.0\.0\.1:\d+\Z")
        self.assertEqual(seen["AWS_ENDPOINT_URL_DYNAMODB"], seen["WEIR_TEST_DYNAMODB"])
        self.assertEqual(seen["AWS_ACCESS_KEY_ID"], "test")
        self.assertTrue(seen["WEIR_TEST_DYNOXIDE_CONTROL"].startswith("http://127.0.0.1:"))
        self.assertNotIn("mine", seen.values())

    @contextlib.contextmanager
    def under_way(self):
        """(the runner, its engine and its command) while the command waits."""
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ) | {"TMPDIR": folder}
            runner = subprocess.Popen([sys.executable, RUN, "--", "sleep", "1000"],
                                      env=environment, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            try:
                engine.wait_until(lambda: len(children(runner.pid)) == 2, "two processes run")
                yield runner, children(runner.pid), pathlib.Path(folder)
            finally:
                runner.kill()
                runner.wait()

    def test_a_runner_that_is_terminated_leaves_nothing(self):
        with self.under_way() as (runner, processes, folder):
            runner.send_signal(signal.SIGTERM)
            self.assertEqual(runner.wait(), 128 + signal.SIGTERM)
            self.assertEqual([pid for pid in processes if is_alive(pid)], [])
            self.assertEqual(list(folder.iterdir()), [])

    def test_a_runner_that_is_killed_leaves_no_process(self):
        with self.under_way() as (runner, processes, _):
            runner.kill()
            runner.wait()
            engine.wait_until(lambda: not any(map(is_alive, processes)), "no process runs")


if __name__ == "__main__":
    unittest.main()
