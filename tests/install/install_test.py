#!/usr/bin/env python3
"""Installs the library into an empty folder, builds the examples against it and runs them.

usage: install_test.py BUILD SOURCE
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

SOURCE = pathlib.Path(sys.argv.pop()).resolve()
BUILD = pathlib.Path(sys.argv.pop()).resolve()
LIMITS = "namespace: default\nresources:\n  api:\n    limits:\n      calls: 2/hour\n"


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        cls.prefix, cls.examples = cls.root / "prefix", cls.root / "examples"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)
        run("cmake", "-S", SOURCE / "examples", "-B", cls.examples, "-G", "Ninja",
            "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache", f"-DCMAKE_PREFIX_PATH={cls.prefix}")
        run("cmake", "--build", cls.examples)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def libraries_of(self, program):
        return run("ldd", self.examples / program)

    def test_limits_inside_the_process_need_no_library_of_ours_or_aws(self):
        self.assertRegex(run(self.examples / "in_process"), r"^\d+ admitted, \d+ refused\n$")
        needed = self.libraries_of("in_process")
        for library in ("sqlite", "crypto", "ssl", "yaml", "aws"):
            self.assertNotIn(library, needed)

    def test_a_limiter_in_memory_links_neither_sqlite_nor_aws(self):
        self.assertEqual(run(self.examples / "asio_scheduler").count("admitted"), 5)
        needed = self.libraries_of("asio_scheduler")
        for library in ("sqlite", "ssl", "aws"):
            self.assertNotIn(library, needed)

    def test_a_plugin_shows_nothing_but_its_function(self):
        plugin = self.examples / "plugin.so"
        self.assertEqual(run(self.examples / "plugin_host", plugin), "3 of 5 admitted\n")

    def test_an_http_handler_refuses_with_the_time_to_wait(self):
        (self.root / "limits.yaml").write_text(LIMITS)
        server = subprocess.Popen([self.examples / "http_handler", self.root / "limits.yaml",
                                   self.root / "state.db", "0"], stdout=subprocess.PIPE, text=True)
        try:
            port = re.search(r"port (\d+)", server.stdout.readline()).group(1)
            self.assertEqual([self.ask(port, "ann") for _ in range(3)], [200, 200, (429, "1800")])
            self.assertEqual(self.ask(port, "bob"), 200)
        finally:
            server.kill()
            server.wait()
            server.stdout.close()

    @staticmethod
    def ask(port, tenant):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"X-Tenant": tenant})
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.status
        except urllib.error.HTTPError as error:
            return (error.code, error.headers["Retry-After"])

    def test_the_producer_of_kinesis_is_built(self):
        done = subprocess.run([self.examples / "kinesis_producer"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (2, "usage: kinesis_producer STREAM < lines\n"))

    def test_only_headers_of_the_public_interface_are_installed(self):
        installed = {path.relative_to(self.prefix / "include").as_posix()
                     for path in (self.prefix / "include").rglob("*.h")}
        public = run(sys.executable, SOURCE / "tools/public_headers.py", SOURCE, "weir/weir.h").split()
        self.assertEqual(installed, {*public, "weir/version.h"})

    def test_a_program_links_the_shared_library(self):
        folder = self.root / "shared"
        folder.mkdir()
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(a LANGUAGES CXX)\n"
            "find_package(weir REQUIRED COMPONENTS shared)\n"
            f"add_library(plugin MODULE {SOURCE}/examples/plugin.cc)\n"
            "target_link_libraries(plugin PRIVATE weir::weir)\n")
        run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", folder / "build")
        host = self.examples / "plugin_host"
        self.assertEqual(run(host, folder / "build/libplugin.so"), "3 of 5 admitted\n")

    def test_the_shared_library_exports_our_symbols_only(self):
        library = next(self.prefix.rglob("libweir.so"))
        symbols = run("nm", "-DC", "--defined-only", library).splitlines()
        names = [line.split(maxsplit=2)[2] for line in symbols]
        self.assertGreater(len(names), 100)
        prefix = r"(vtable for |VTT for |typeinfo for |typeinfo name for |(non-)?virtual thunk to )?weir::"
        self.assertEqual([name for name in names if not re.match(prefix, name)], [])
        internal = [name for name in names if re.match(r"[^(]*weir::\w+::(State|Parts|Fetch|Families)::", name)]
        self.assertEqual(internal, [])

    def test_pkg_config_finds_what_a_program_needs(self):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(next(self.prefix.rglob("pkgconfig")))}
        options = run("pkg-config", "--cflags", "--libs", "weir-limiter", env=environment).split()
        run("g++", "-std=c++23", SOURCE / "examples/plugin.cc", "-shared", "-fPIC", "-o", self.root / "a.so",
            *options, env=environment)

    def test_a_component_that_does_not_exist_is_named(self):
        (self.root / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(a LANGUAGES CXX)\n"
            "find_package(weir REQUIRED COMPONENTS redis)\n")
        done = subprocess.run(["cmake", "-S", self.root, "-B", self.root / "b", f"-DCMAKE_PREFIX_PATH={self.prefix}"],
                              capture_output=True, text=True, check=False)
        self.assertIn("weir has no component 'redis' here; there are:", " ".join(done.stderr.split()))


if __name__ == "__main__":
    unittest.main()
