"""`weir kinesis put` at work, what it was given, and what became of that."""

import collections
import contextlib
import itertools
import json
import pathlib
import shutil
import subprocess
import tempfile
import threading

from streams import HERE, engine

DATA = HERE.parent.parent.parent / "examples/data/azure_llm_2023_conv.csv"
ENGINES = {"kinesis-local": engine.KinesisLocal, "ferrokinesis": engine.Ferrokinesis}


def real_lines():
    """Without end, each with its number at its begin."""
    rows = DATA.read_text().splitlines()[1:]
    return (f"{number},{row}" for number, row in enumerate(itertools.cycle(rows)))


class Put:
    """The process. As a block: it is ended with it."""

    def __init__(self, weir, stream, url, *options, **properties):
        self.fed, self.failed = [], []
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-put-"))
        (self.folder / "properties").write_text(
            "".join(f"{name} = {value}\n" for name, value in properties.items()))
        with open(self.folder / "stderr", "wb") as stderr:
            self.process = engine.start(
                [weir, "kinesis", "put", "--stream", stream.name, "--endpoint", url, "--region",
                 "us-east-1", "--properties", self.folder / "properties", "--failed-to",
                 self.folder / "failed", "--json", *options],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True,
                env=stream.running.environment())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        shutil.rmtree(self.folder)

    def feed(self, lines):
        lines = list(lines)
        self.fed += lines
        self.process.stdin.write("".join(line + "\n" for line in lines))
        self.process.stdin.flush()

    def finish(self):
        """No more lines: its report, when each has its result."""
        told, _ = self.process.communicate()
        failed = self.folder / "failed"
        self.failed = failed.read_text().splitlines() if failed.exists() else []
        self.said = (self.folder / "stderr").read_text()
        if self.process.returncode not in (0, 1):
            raise AssertionError(
                f"weir kinesis put: exit code {self.process.returncode}: {self.said}")
        return json.loads(told)

    def acknowledged(self):
        return collections.Counter(self.fed) - collections.Counter(self.failed)


class Feeder:
    """Lines for a Put, from a thread of its own, while the block lasts."""

    def __init__(self, put, lines, each, pause):
        self.put, self.lines, self.each, self.pause = put, lines, each, pause
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        with contextlib.suppress(BrokenPipeError):  # its end is told by finish
            while not self.ended.wait(self.pause):
                self.put.feed(itertools.islice(self.lines, self.each))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


def check(test, put, report, contents):
    """What holds whatever happened: consumers get what was acknowledged, and twice only what the
    report admits."""
    got = collections.Counter(data.decode() for data in contents.data())
    test.assertEqual(contents.damaged, 0)
    test.assertEqual(report["records"], len(put.fed))
    test.assertEqual(report["failed"], len(put.failed), put.said)
    test.assertEqual(list((put.acknowledged() - got).elements())[:5], [], "acknowledged and lost")
    test.assertEqual(set(got) - set(put.fed), set(), "never put")
    repeated = sum(count > 1 for count in got.values())
    test.assertLessEqual(repeated, report["maybe_duplicates"], "twice, and not said")
