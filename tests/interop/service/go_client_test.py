#!/usr/bin/env python3
"""gRPC's Go client with Envoy's messages calls `weir serve`: runs the tests of go/, each test once.

usage: go_client_test.py WEIR [UNITTEST_ARGUMENT...]
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
import served  # noqa: E402
from served import Served, engine  # noqa: E402

WEIR = os.path.abspath(sys.argv.pop(1))
PROGRAM = engine.ENGINES / "go_client/service.test"
RULES = served.HERE / "go/rules.yaml"
TEST_SECONDS = 120
DRAINS_IN_FLIGHT = "TestDrainAnswersTheCallsInFlight"
DRAINS_UNDER_LOAD = ("TestDrainUnderLoadLosesNoCall", "TestDrainUnderLoadIsNotSeenByCallsThatWait")


def command(service, *options):
    return [PROGRAM, "-target", service.target, "-admin", service.admin, "-service-pid",
            str(service.process.pid), f"-test.timeout={TEST_SECONDS}s", *options]


def listed(service):
    """The names of all tests of the program."""
    done = subprocess.run(command(service, "-test.list", "."), text=True, capture_output=True,
                          check=True, timeout=TEST_SECONDS)
    return set(done.stdout.split())


class GoTests(unittest.TestCase):
    def start(self, service, names, *options):
        pattern = f"^({'|'.join(names)})$"
        return engine.start(command(service, "-test.v", "-test.run", pattern, *options), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def check(self, tests, names):
        """Waits for the end. The exit code is 0 as well if a name is that of no test."""
        output = tests.communicate(timeout=TEST_SECONDS + 5)[0]
        self.assertEqual(tests.returncode, 0, output)
        self.assertEqual(set(re.findall(r"^--- PASS: (\w+)", output, re.MULTILINE)), set(names))

    def test_calls(self):
        with Served(WEIR, RULES) as service:
            names = listed(service) - {DRAINS_IN_FLIGHT, *DRAINS_UNDER_LOAD}
            self.assertGreater(len(names), 0)
            self.check(self.start(service, names), names)

    def test_a_drain_answers_the_calls_in_flight(self):
        store = self.enterContext(engine.Dynoxide())
        environment = store.environment()
        # The store is stopped for a part of this time.
        times = ["--store-timeout", "60s", "--drain-timeout", "60s"]
        with Served(WEIR, RULES, *times, store=served.create_table(WEIR, environment),
                    environment=environment) as service:
            names = [DRAINS_IN_FLIGHT]
            tests = self.start(service, names, "-store-pid", str(store.process.pid))
            self.check(tests, names)
            self.assertEqual(service.end(), 0)
            self.assertRegex(service.log(), "service.drained ended=.* cut=0")

    def test_a_drain_under_load_loses_no_call(self):
        for name in DRAINS_UNDER_LOAD:
            port, = engine.free_ports(1)
            with self.subTest(name), tempfile.TemporaryDirectory() as folder, Served(
                    WEIR, RULES, grpc=f"127.0.0.1:{port}",
                    store=f"sqlite:{folder}/limits.db") as service:
                tests = self.start(service, [name])
                self.wait_for_drain(service, tests, name)
                service.start()  # the process that replaces it
                self.check(tests, [name])

    def wait_for_drain(self, service, tests, name):
        """The tests end the service, unless they fail before."""
        engine.wait_until(lambda: service.process.poll() is not None or tests.poll() is not None,
                          "the service has ended", TEST_SECONDS)
        if service.process.poll() is None:
            self.check(tests, [name])
        self.assertEqual(service.end(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
