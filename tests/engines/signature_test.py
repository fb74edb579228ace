#!/usr/bin/env python3
"""Signatures are verified by a server that is not ours.

usage: signature_test.py WEIR
"""

import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
import engine  # noqa: E402
import fault_proxy  # noqa: E402

WEIR = sys.argv.pop(1)


class Signatures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.moto = cls.enterClassContext(engine.Moto(verify=True))

    def weir(self, *words, **changed):
        environment = self.moto.environment() | {"PATH": os.environ["PATH"]} | changed
        return subprocess.run([WEIR, "--store", "dynamodb://limits", *words], env=environment,
                              text=True, capture_output=True, check=False, timeout=60)

    def test_the_right_secret_is_accepted(self):
        created = self.weir("table", "create")
        self.assertEqual((created.returncode, created.stderr), (0, ""))

    def check_refused(self, code, **changed):
        refused = self.weir("table", "status", **changed)
        self.assertEqual(refused.returncode, 1)
        self.assertIn(f"403 {code}", refused.stderr)
        *events, error = refused.stderr.splitlines()
        self.assertTrue(error.startswith("weir: "), error)
        self.assertLessEqual(len(events), 1)
        for event in events:
            self.assertIn(" warning credentials.rejected", event)
        self.assertNotIn(self.moto.secret_key, refused.stderr)
        return refused.stderr

    def test_what_is_not_right_is_refused_in_one_line(self):
        for code, changed in (
                ("SignatureDoesNotMatch", {"AWS_SECRET_ACCESS_KEY": "wrong"}),
                ("InvalidClientTokenId", {"AWS_SESSION_TOKEN": "wrong"}),
                ("InvalidClientTokenId", {"AWS_ACCESS_KEY_ID": "AKIAWRONGWRONGWRONGX"})):
            with self.subTest(changed):
                told = self.check_refused(code, **changed)
                for secret in changed.values():
                    self.assertNotIn(secret, told)

    def test_a_body_that_was_changed_on_its_way_is_refused(self):
        with fault_proxy.FaultProxy(self.moto) as proxy:
            passed_on = {"AWS_ENDPOINT_URL_DYNAMODB": proxy.url}
            self.weir("table", "create")
            self.assertEqual(self.weir("table", "status", **passed_on).returncode, 0)
            proxy.set_mode("tamper")
            self.check_refused("SignatureDoesNotMatch", **passed_on)


if __name__ == "__main__":
    unittest.main(verbosity=2)
