#!/usr/bin/env python3
"""Random bytes as every text that a command stores (C1): each is refused in one line, or stored, and
the store opens and is printed afterwards.

usage: texts_test.py WEIR [SEED]
"""

import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the sources stay as they are
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import Failed, expect  # noqa: E402

PIECES = [b"a", b"Z9", b"_", b"-", b".", b" ", b"\n", b"\t", b"\x1b[2J", b"\x7f", b"\xc3\xbc", b"\xfc",
          b"\xe2\x82", b'"', b"\\", b"#", b"/", b":", b"=", b"\xc2\x9b", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
          b"x" * 300]
BAD = [b"M\xfcnchen", b"\xe2\x82", b"a\x1b[2Jb", b"a\nb", b"a\xc2\x9bb"]
RANDOM_TEXTS = 6


class Store:
    def __init__(self, weir, folder):
        self.folder = folder
        self.weir = weir
        self.store = f"sqlite:{folder / 'weir.db'}"

    def run(self, *words, environment=None):
        # A replay wants a store of its own.
        store = "memory:" if words[0] == "replay" else self.store
        return subprocess.run([self.weir, "--store", store, *words], capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=60,
                              env={**os.environ, **(environment or {})})

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return str(path)


def commands(store, text):
    """Each with `text` as one of the texts that it stores."""
    limits = store.file("limits.yaml", b"namespace: default\nresources:\n  " + text + b":\n    limits: {rpm: 10/min}\n")
    names = store.file("names.yaml", b"namespace: default\nresources:\n  llm:\n    limits: {" + text + b": 10/min}\n")
    fixed = store.file("fixed.yaml", b"namespace: default\nsystem:\n  limits: {rpm: 10/min}\n")
    trace = store.file("trace.csv", b"time,entity,resource,rpm\n0," + text + b",llm,1\n")
    accounts = store.file("accounts.json", b'{"limits": [{"accountId": "acme", "resourceName": "' + text
                          + b'", "limit": 2, "windowSec": 60}]}')
    return [
        ("entity", "create", text),
        ("entity", "create", "e1", "--name", text),
        ("entity", "create", "e2", "--parent", text),
        ("entity", "create", "e3", "--metadata", b"city=" + text),
        ("entity", "create", "e4", "--metadata", text + b"=x"),
        ("entity", "create", "e5", "--by", text),
        ("entity", "update", "e1", "--name", text),
        ("entity", "update", "e1", "--parent", text),
        ("entity", "update", "e1", "--metadata", text + b"=x"),
        ("entity", "update", "e1", "--metadata", b"city=" + text),
        ("entity", "set-limits", text, "-l", "rpm:10"),
        ("entity", "set-limits", "e6", "-r", text, "-l", "rpm:10"),
        ("resource", "set-limits", text, "-l", "rpm:10"),
        ("resource", "set-limits", "llm", "-l", text + b":10"),
        ("system", "set-limits", "-l", text + b":10"),
        ("limits", "apply", "-f", limits, "--yes"),
        ("limits", "apply", "-f", names, "--yes"),
        ("try", text, "llm", "rpm=1", "--limits", "rpm:10"),
        ("try", "acme", text, "rpm=1", "--limits", "rpm:10"),
        ("try", "acme", "llm", text + b"=1", "--limits", text + b":10"),
        ("bucket", "reset", text, "llm"),
        ("bucket", "top-up", "acme", "llm", text + b"=1"),
        ("load", text, "llm", "rpm=1", "--duration", "20ms", "--limits", "rpm:10"),
        ("replay", trace, "--limits-file", fixed, "--columns",
         "time=time,entity=entity,resource=resource,rpm=rpm"),
        ("namespace", "register", text),
        ("reservation", "load-limits", "--service", "svc", accounts),
        ("reserve", text, "acme", "--slots", "1", "--", "true"),
        ("reserve", "emr", text, "--slots", "1", "--", "true"),
        ("tokens", "take", text, "acme"),
        ("tokens", "take", "emr", text),
    ]


def every_command_stores_a_plain_text(store):
    """Fails if: a command is refused for another reason than its text, so that it tests nothing."""
    for words in commands(store, b"plain"):
        done = store.run(*words)
        expect(done.returncode in (0, 3), f"{words}: {done.returncode} {done.stderr!r}")


def is_one_line(error):
    """Printable UTF-8, a line for each thing that is said."""
    try:
        lines = error.decode().splitlines()
    except UnicodeDecodeError:
        return False
    return len(lines) <= 1 and all(c.isprintable() or c == "\n" for c in error.decode())


def is_printable(answer):
    try:
        return all(c.isprintable() or c == "\n" for c in answer.decode())
    except UnicodeDecodeError:
        return False


def every_text_is_refused_or_stored(store, text):
    """Fails if: a command crashes, prints what a terminal obeys, or answers in several lines."""
    for words in commands(store, text):
        done = store.run(*words)
        shown = f"{words}: {done.returncode} {done.stdout!r} {done.stderr!r}"
        expect(done.returncode in (0, 1, 2, 3), shown)
        expect(is_one_line(done.stderr), shown)
        expect(done.returncode == 0 or done.returncode == 3 or done.stderr.startswith(b"weir: "), shown)
        expect(is_printable(done.stdout), shown)
    done = store.run("entity", "create", "by", environment={"WEIR_BY": os.fsdecode(text)})
    expect(done.returncode in (0, 1, 2) and is_one_line(done.stderr), f"WEIR_BY: {done}")
    store.run("entity", "delete", "by")


def all_is_still_read(store):
    """Fails if: something was stored that cannot be read, or is reported as damaged."""
    for words in (("store", "check"), ("entity", "list"), ("limits", "export"), ("buckets", "acme"),
                  ("audit", "list", "-e", "e1"), ("audit", "list", "--system"), ("namespace", "list"),
                  ("resource", "list"), ("system", "list"), ("reservation", "list", "emr", "acme")):
        done = store.run(*words)
        shown = f"{words}: {done.returncode} {done.stdout!r} {done.stderr!r}"
        expect(done.returncode == 0, shown)
        expect(done.stderr == b"", shown)
        expect(is_printable(done.stdout), shown)


def main():
    weir = str(pathlib.Path(sys.argv[1]).resolve())
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
    print(f"seed {seed}")
    chosen = random.Random(seed)
    texts = BAD + [b"".join(chosen.choices(PIECES, k=3)) for _ in range(RANDOM_TEXTS)]
    with tempfile.TemporaryDirectory() as folder:
        store = Store(weir, pathlib.Path(folder))
        try:
            every_command_stores_a_plain_text(store)
            for text in texts:
                every_text_is_refused_or_stored(store, text)
                all_is_still_read(store)
        except Failed as problem:
            print(f"FAILED  {problem}")
            return 1
    print(f"ok      {len(texts)} texts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
