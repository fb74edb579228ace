#!/usr/bin/env python3
"""An archive that boto3 writes to moto's S3 is read by `weir audit list --archive`.

usage: archive_test.py WEIR     with the Python of install.py
"""

import gzip
import json
import os
import subprocess
import sys
import unittest

import boto3

sys.dont_write_bytecode = True  # the sources stay as they are
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import engine  # noqa: E402

WEIR = sys.argv.pop(1)
DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def ulid(millis, number):
    value = millis << 80 | number
    return "".join(DIGITS[value >> 5 * place & 31] for place in reversed(range(26)))


def line(number, subject="acme", day="2026-01-31", millis=1769850307000):
    event = {"event_id": ulid(millis, number), "entity_id": subject, "action": "limits_set",
             "timestamp": f"{day}T09:05:07Z", "principal": "arn:aws:iam::1:user/me", "resource": "api",
             "details": {"limits": [{"name": "rpm", "capacity": number}]}}
    return json.dumps(event) + "\n"


class Archives(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.moto = cls.enterClassContext(engine.Moto(verify=True))
        cls.s3 = boto3.client("s3", endpoint_url=cls.moto.url, region_name="us-east-1",
                              aws_access_key_id=cls.moto.access_key,
                              aws_secret_access_key=cls.moto.secret_key)
        cls.s3.create_bucket(Bucket="archive")

    def put(self, prefix, day, name, text, pack=gzip.compress):
        year, month, number = day.split("-")
        key = f"{prefix}audit/year={year}/month={month}/day={number}/audit-{name}-{day}T09-05-07Z.jsonl.gz"
        self.s3.put_object(Bucket="archive", Key=key, Body=pack(text.encode()),
                           ContentType="application/x-ndjson", ContentEncoding="gzip")
        return key

    def weir(self, *words, **changed):
        environment = self.moto.environment() | {"PATH": os.environ["PATH"]} | changed
        return subprocess.run([WEIR, *words], env=environment, text=True, capture_output=True,
                              check=False, timeout=60)

    def listed(self, *words):
        done = self.weir("audit", "list", "--json", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_events_are_listed_the_newest_first(self):
        days = [("2025-12-31", 1767171907000), ("2026-01-02", 1767344707000),
                ("2026-01-31", 1769850307000)]
        for number, (day, millis) in enumerate(days):
            for copy in range(3):
                self.put("one/", day, f"request+{copy} x",
                         line(10 * number + copy, day=day, millis=millis) + line(99, "bolt"))
        page = self.listed("-e", "acme", "--archive", "s3://archive/one")
        told = [event["details"]["limits"][0]["capacity"] for event in page["events"]]
        self.assertEqual(told, [22, 21, 20, 12, 11, 10, 2, 1, 0])
        self.assertEqual(page["events"][0]["principal"], "arn:aws:iam::1:user/me")
        first = self.listed("-e", "acme", "--archive", "s3://archive/one", "-n", "4")
        self.assertEqual(first["events"], page["events"][:4])
        rest = self.listed("-e", "acme", "--archive", "s3://archive/one", "--after", first["next"])
        self.assertEqual(rest["events"], page["events"][4:])
        middle = self.listed("-e", "acme", "--archive",
                             f"s3://archive/one?region=us-east-1&endpoint={self.moto.url}",
                             "--start", "2026-01-01", "--end", "2026-01-31")
        self.assertEqual(middle["events"], page["events"][3:6])

    def test_what_does_not_read_is_named_and_the_rest_is_listed(self):
        key = self.put("two/", "2026-01-31", "r", line(1) + "{broken\n" + line(2))
        other = self.put("two/", "2026-01-31", "s", "plain", pack=lambda text: text)
        done = self.weir("audit", "list", "-e", "acme", "--archive", "s3://archive/two/")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout.count("limits_set"), 2)
        self.assertIn(f"{key}, line 2: ", done.stderr)
        self.assertIn(f"{other}: it is not gzip", done.stderr)

    def test_errors_are_those_of_s3(self):
        done = self.weir("audit", "list", "--system", "--archive", "s3://nowhere-to-be-found")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("404 NoSuchBucket: The specified bucket does not exist", done.stderr)
        done = self.weir("audit", "list", "--system", "--archive", "s3://archive",
                         AWS_SECRET_ACCESS_KEY="wrong")
        self.assertEqual(done.returncode, 1)
        self.assertIn("403 SignatureDoesNotMatch", done.stderr)
        done = self.weir("audit", "list", "--system", "--archive", "s3://NO")
        self.assertEqual(done.returncode, 2)

    def test_a_change_of_a_table_is_by_the_arn_of_its_caller(self):
        store = ("--store", "dynamodb://limits")
        for words in (("table", "create"), ("namespace", "register", "default"), ("system", "set-limits", "-l", "rpm:1"),
                      ("--by", "jo@ci", "audit", "retention", "7")):
            done = self.weir(*store, *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        events = json.loads(self.weir(*store, "--json", "audit", "list", "--system").stdout)["events"]
        self.assertEqual([event["principal"] for event in events],
                         ["jo@ci", "arn:aws:iam::123456789012:user/test"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
