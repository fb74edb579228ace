#!/usr/bin/env python3
"""Weir and rate-limiter-py 0.3.0 on the same three tables at the same time.

usage: rate_limiter_py_test.py WEIR [UNITTEST_ARGUMENT...]
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import engine  # noqa: E402

REFUSED = 3
BASE = "interop"


def setUpModule():
    global dynoxide, environment
    dynoxide = engine.Dynoxide()
    dynoxide.__enter__()
    unittest.addModuleCleanup(dynoxide.__exit__)
    environment = dynoxide.environment() | {"LIMITER_TABLES_BASE_NAME": BASE}
    weir("--store", "rate-limiter-py:", "table", "create")


def run_weir(*words):
    return subprocess.run([WEIR, "--json", *words], env=environment, text=True,
                          capture_output=True, check=False)


def weir(*words):
    done = run_weir(*words)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: {done.returncode}: {done.stderr}{done.stdout}")
    return json.loads(done.stdout)


class Both(unittest.TestCase):
    def setUp(self):
        self.account = self.id().rsplit(".", 1)[1]  # rows of its own for each test
        self.peer = engine.start(
            [engine.PYTHON, HERE / "peer.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=environment | {"PYTHONPATH": str(engine.RATE_LIMITER_PY),
                                          "PYTHONDONTWRITEBYTECODE": "1"})
        self.addCleanup(self.end_peer)

    def end_peer(self):
        self.peer.stdin.close()
        self.peer.wait()
        self.peer.stdout.close()

    def call(self, call, **words):
        self.peer.stdin.write(json.dumps({"call": call, **words}) + "\n")
        self.peer.stdin.flush()
        return json.loads(self.peer.stdout.readline())

    def peer_reserves(self, limit):
        return self.call("reserve", resource="emr", account=self.account, limit=limit)

    def weir_reserves(self, limit, *words):
        return run_weir("reserve", "emr", self.account, "--limit", str(limit), *words)

    def held(self):
        return weir("reservation", "list", "emr", self.account)["slots"]

    def test_its_reservations_count_against_ours(self):
        first = self.peer_reserves(2)
        self.assertEqual(self.weir_reserves(2).returncode, 0)
        self.assertEqual(self.weir_reserves(2).returncode, REFUSED)
        self.assertIn(first["id"], [slot["id"] for slot in self.held()])
        self.call("delete", id=first["id"])
        self.assertEqual(self.weir_reserves(2).returncode, 0, "what it gave back is ours")

    def test_ours_count_against_its(self):
        slot = json.loads(self.weir_reserves(1).stdout)
        self.assertIn("refused", self.peer_reserves(1))
        weir("reservation", "release", "emr", self.account, slot["id"])
        self.assertIn("id", self.peer_reserves(1))

    def test_its_event_manager_frees_our_token(self):
        slot = json.loads(self.weir_reserves(1).stdout)
        weir("reservation", "bind", "emr", self.account, slot["id"], f"j-{self.account}")
        self.assertEqual(self.weir_reserves(1).returncode, REFUSED)
        self.call("event", source="aws.emr", path="detail.clusterId",
                  event={"source": "aws.emr", "detail": {"clusterId": f"j-{self.account}"}})
        self.assertEqual(self.held(), [])
        # The roster is told of nothing; it is held against the rows when both are at rest.
        self.assertEqual(self.weir_reserves(1, "--wait", "60s").returncode, 0)

    def test_our_events_free_its_token(self):
        token = self.peer_reserves(1)
        self.call("bind", id=token["id"], to=f"j-{self.account}")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as rules:
            rules.write("rules:\n  - source: aws.emr\n    id: detail.clusterId\n"
                        "    pattern: {detail.state: [TERMINATED]}\n")
            rules.flush()
            event = {"source": "aws.emr", "time": "2030-01-01T00:00:00Z",
                     "detail": {"clusterId": f"j-{self.account}", "state": "TERMINATED"}}
            done = subprocess.run([WEIR, "reservation", "events", "--rules", rules.name],
                                  input=json.dumps(event) + "\n", text=True, env=environment,
                                  capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.held(), [])
        self.assertIn("id", self.peer_reserves(1))

    def test_our_binding_is_a_token_to_it(self):
        slot = json.loads(self.weir_reserves(5).stdout)
        weir("reservation", "bind", "emr", self.account, slot["id"], "j-1")
        self.assertEqual([token["bound_to"] for token in self.held()], ["j-1"])
        item, = self.items(f"{BASE}-non-fungible-tokens", "resourceCoordinate",
                           f"emr:{self.account}", "expirationTime")
        self.assertEqual([item["resourceId"], item["resourceName"], item["accountId"]],
                         [{"S": "j-1"}, {"S": "emr"}, {"S": self.account}])

    def items(self, table, key, value, having):
        found = engine.call_dynamodb(dynoxide.url, "Query", {
            "TableName": table, "KeyConditionExpression": "#k = :k",
            "ExpressionAttributeNames": {"#k": key},
            "ExpressionAttributeValues": {":k": {"S": value}}})
        return [item for item in found["Items"] if having in item]

    def test_limits_that_one_loads_hold_for_the_other(self):
        for loads, service in ((self.peer_loads, "theirs"), (self.weir_loads, "ours")):
            self.account = f"loaded-by-{service}"
            loads(service, 1)
            self.assertEqual(self.weir_reserves(9).returncode, 0)
            self.assertEqual(self.weir_reserves(9).returncode, REFUSED)
            self.assertIn("refused", self.peer_reserves(9))

    def limits_file(self, limit):
        file = tempfile.NamedTemporaryFile("w", suffix=".json")
        self.addCleanup(file.close)
        json.dump({"limits": [{"accountId": self.account, "resourceName": "emr",
                               "limit": limit}]}, file)
        file.flush()
        return file.name

    def peer_loads(self, service, limit):
        self.call("load", service=service, file=self.limits_file(limit))

    def weir_loads(self, service, limit):
        weir("limits", "load", "--service", service, self.limits_file(limit))

    def test_we_take_no_row_that_it_owns(self):
        self.peer_loads("theirs", 1)
        done = run_weir("limits", "load", "--service", "ours", self.limits_file(7))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("theirs", done.stderr)
        weir("limits", "load", "--service", "theirs", self.limits_file(7))

    # Fails if: a row that says no limit keeps all others of the file from being loaded (R16).
    def test_r16_a_row_that_cannot_be_read_is_left_out_by_itself(self):
        engine.call_dynamodb(dynoxide.url, "PutItem", {
            "TableName": f"{BASE}-limits",
            "Item": {"resourceName": {"S": "emr"}, "accountId": {"S": "half"},
                     "limit": {"N": "0.5"}, "serviceName": {"S": "r16"}}})
        done = run_weir("reservation", "load-limits", "--service", "r16", "--prune",
                        self.limits_file(1))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(json.loads(done.stdout)["create"], 1)
        self.assertIn("left out: limit of emr for half: limit: 0.5", done.stderr)
        self.assertEqual(self.weir_reserves(9).returncode, 0)
        self.assertEqual(self.weir_reserves(9).returncode, REFUSED)

    def weir_takes(self, limit, window):
        return run_weir("tokens", "take", "api", self.account, "--limit", str(limit), "--window",
                        f"{window}s").returncode

    def peer_takes(self, limit, window):
        return self.call("take", resource="api", account=self.account, limit=limit, window=window)

    def test_tokens_of_one_bucket(self):
        # Its own refill is defective (it fills the bucket with each take): what it leaves is read.
        self.assertNotIn("refused", self.peer_takes(3, 3600))
        self.assertEqual(self.weir_takes(3, 3600), 0)
        self.assertEqual(self.weir_takes(3, 3600), 0)
        self.assertEqual(self.weir_takes(3, 3600), REFUSED, "it took one of the three")
        item, = self.tokens()
        self.assertEqual(item["tokens"], {"N": "0"})
        self.assertIn("refused", self.peer_takes(3, 3600), "it sees that there is none")

    def tokens(self):
        found = engine.call_dynamodb(dynoxide.url, "GetItem", {
            "TableName": f"{BASE}-fungible-tokens",
            "Key": {"resourceName": {"S": "api"}, "accountId": {"S": self.account}}})
        return [found["Item"]]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    WEIR = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
