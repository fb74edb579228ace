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

    def test_what_is_not_right_is_refused_in_one_line(self):
        for changed in ({"AWS_SECRET_ACCESS_KEY": "wrong"}, {"AWS_SESSION_TOKEN": "wrong"},
                        {"AWS_ACCESS_KEY_ID": "AKIAWRONGWRONGWRONGX"}):
            with self.subTest(changed):
                refused = self.weir("table", "status", **changed)
                self.assertEqual(refused.returncode, 1)
                self.assertIn("403", refused.stderr)
                self.assertEqual(refused.stderr.count("\n"), 1)
                for secret in changed.values():
                    self.assertNotIn(secret, refused.stderr)
                self.assertNotIn(self.moto.secret_key, refused.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
