#!/usr/bin/env python3
"""The example of docs/coming-from-kpl.md stores lines, by a properties file of the Kinesis Producer Library.

usage: example_test.py EXAMPLE ENGINE
"""

import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
from streams import Stream  # noqa: E402
from put import ENGINES  # noqa: E402

ENGINE = sys.argv.pop()
EXAMPLE = sys.argv.pop()


class Example(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.running = cls.enterClassContext(ENGINES[ENGINE]())

    def run_example(self, stream, properties, lines):
        with tempfile.NamedTemporaryFile("w", suffix=".properties") as file:
            file.write(properties)
            file.flush()
            environment = {**self.running.environment(), "AWS_ENDPOINT_URL": self.running.url,
                           "AWS_REGION": "us-east-1", "KINESIS_PROPERTIES": file.name}
            return subprocess.run([EXAMPLE, stream], input=lines, env=environment, text=True,
                                  capture_output=True, check=False, timeout=60)

    def test_each_line_is_stored(self):
        stream = Stream(self.running, "example")
        lines = [f"line {number}" for number in range(300)]
        done = self.run_example(stream.name, "AggregationEnabled = false\nwire_format = json\n"
                                             "ThreadingModel = POOLED\n", "\n".join(lines))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "300 stored, 0 failed\n")
        self.assertEqual(done.stderr, "ignored: ThreadingModel\n")
        stored = [record["Data"].decode() for shard in stream.shards()
                  for record in stream.raw(shard)]
        self.assertCountEqual(stored, lines)

    def test_a_wrong_property_ends_it_before_anything_is_put(self):
        done = self.run_example("none", "RecordTtl = 5\n", "line\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("line 1: RecordTtl is '5': give a whole number from 100", done.stderr)


if __name__ == "__main__":
    unittest.main()
