#!/usr/bin/env python3
"""The package of `weir aggregate package` as an AWS Lambda function: in a root that has nothing else,
without rights, in 256 MB, over TLS to a name that is resolved there. A model of the event source
mapping delivers batches, some with a malformed record, some twice, and the process is killed twice
inside a batch. Each well-formed record is counted once; the dead letters name the malformed ones.

usage: function_test.py WEIR [BATCHES [SEED]]        as root, or with sudo
"""

import contextlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the sources stay as they are
import network  # noqa: E402
import stream  # noqa: E402
from environment import MEMORY, Environment, InvocationFailed, engine, make_root  # noqa: E402
from mapping import Mapping  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import Failed, expect  # noqa: E402

BATCH = 100
MALFORMED = REDELIVERED = 0.05
NAME = "dynamodb.weir.test"
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"


class Function:
    """Its process, which is started again when it has ended."""

    def __init__(self, root, variables, log):
        self.root, self.variables, self.log = root, variables, log
        self.environment = None
        self.started = self.peak = 0

    def invoke(self, event):
        if self.environment is None:
            self.environment = Environment(self.root, self.variables, self.log)
            self.started += 1
        try:
            return self.environment.invoke(event)
        finally:
            self.environment.note_memory()
            self.peak = max(self.peak, self.environment.peak)
            if self.environment.process.poll() is not None:
                self.close()

    def kill(self):
        self.environment.process.kill()

    def close(self):
        if self.environment is not None:
            self.environment.close()
        self.environment = None


class Table:
    """On an engine of its own."""

    def __init__(self, weir, running):
        self.weir, self.running = weir, running
        self("table", "create")
        registered, = self("namespace", "register", "default")["namespaces"]
        self.namespace = registered["id"]

    def __call__(self, *words):
        url = f"dynamodb://limits?endpoint={self.running.url}&region=us-east-1"
        done = subprocess.run([self.weir, "--json", "--store", url, *words], text=True,
                              capture_output=True, check=False, env=self.running.environment())
        expect(done.returncode == 0, f"weir {' '.join(words)}: {done.stderr}")
        return json.loads(done.stdout)

    def usage(self):
        """(entity, window, start, limit) -> tokens, and (entity, window, start) -> events."""
        tokens, events = {}, {}
        for index in range(stream.ENTITIES):
            entity = f"e{index}"
            for one in self("usage", "list", "--entity", entity)["usage"]:
                key = (entity, one["window"], one["start"])
                events[key] = one["events"]
                for limit, used in one["used"].items():
                    tokens[*key, limit] = used
        return tokens, events


def make_package(weir, folder, authorities):
    """With a program without debugging symbols."""
    program = folder / "weir"
    subprocess.run(["strip", "-o", program, weir], check=True)
    package = folder / "function.zip"
    command = [program, "aggregate", "package", "--ca-file", authorities]
    for out in (package, folder / "again.zip"):
        subprocess.run([*command, out], check=True, stdout=subprocess.DEVNULL)
    expect(package.read_bytes() == (folder / "again.zip").read_bytes(), "two packages differ")
    expect(package.stat().st_size < 50 << 20, "the package is larger than Lambda allows")
    return package


class Killer:
    """Kills the function's process at requests to the table that are drawn: inside a batch."""

    def __init__(self, function, draw, batches):
        self.function = function
        self.batches = set(draw.sample(range(2, batches), 2))
        self.left = None
        self.kills = 0

    def begin(self, batch):
        self.left = 10 if batch in self.batches else None

    def on_request(self):
        if self.left is None:
            return
        self.left -= 1
        if self.left == 0:
            self.left = None
            self.kills += 1
            self.function.kill()


def check_refused_settings(root, variables, log):
    """A wrong setting is reported by the runtime API, and the process ends."""
    environment = Environment(root, variables | {"SNAPSHOT_TTL_DAYS": "never"}, log)
    with contextlib.closing(environment):
        kind, body = environment.outcome()
        expect(kind == "error" and "SNAPSHOT_TTL_DAYS='never'" in body,
               f"a wrong setting is reported as {kind}: {body}")
        expect(environment.process.wait(10) == 1, "the process goes on with a wrong setting")


def run(weir, folder, running, batches, seed):
    draw = random.Random(seed)
    table = Table(weir, running)
    endpoint = network.TlsEndpoint(folder, NAME, running.ports[0])
    names = network.NameServer(NAME)
    authorities = folder / "authorities.pem"
    authorities.write_text(pathlib.Path(AUTHORITIES).read_text() + endpoint.certificate.read_text())
    package = make_package(weir, folder, authorities)
    root = folder / "root"
    root.mkdir()
    make_root(root, package, names.address)
    variables = {"TABLE_NAME": "limits", "AWS_ACCESS_KEY_ID": "test", "AWS_REGION": "us-east-1",
                 "AWS_SECRET_ACCESS_KEY": "test",
                 "AWS_ENDPOINT_URL_DYNAMODB": f"https://{NAME}:{endpoint.port}"}
    begin = int(time.time())
    changes = stream.Stream(table.namespace, seed, begin)
    with open(folder / "log", "ab") as log:
        check_refused_settings(root, variables, log)
        function = Function(root, variables, log)
        with contextlib.closing(function):
            mapping = Mapping(function.invoke, loses=lambda: draw.random() < REDELIVERED)
            killer = Killer(function, draw, batches)
            endpoint.on_request = killer.on_request
            for number in range(batches):
                killer.begin(number)
                mapping.deliver(changes.batch(BATCH, draw.random() < MALFORMED or number == 1))
    seconds = time.time() - begin
    check(table, changes, mapping, function, killer)
    expect(names.asked > 0, "no name was resolved")
    print(f"{batches} batches of {BATCH} in {seconds:.0f} s: {mapping.counts}, "
          f"{len(mapping.dead_letters)} dead letters, {function.started} processes, "
          f"{function.peak >> 20} MB, package {package.stat().st_size / 1e6:.1f} MB")


def check(table, changes, mapping, function, killer):
    letters = [letter.first for letter in mapping.dead_letters]
    expect(letters == changes.malformed,
           f"dead letters {letters}, malformed records {changes.malformed}")
    tokens, events = table.usage()
    wanted = changes.tokens()
    wrong = {key: (tokens.get(key), wanted.get(key)) for key in tokens.keys() | wanted.keys()
             if tokens.get(key) != wanted.get(key)}
    expect(not wrong, f"tokens that are counted, and that were used: {wrong}")
    expect(events == dict(changes.events), "the number of changes that are counted")
    expect(killer.kills == 2 and function.started >= 3,
           f"{killer.kills} kills, {function.started} processes")
    expect(function.peak < MEMORY, f"the process used {function.peak >> 20} MB")


def main():
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    if os.geteuid() != 0:
        if shutil.which("sudo") is None:
            sys.exit("function_test.py: a root of its own needs the rights of root, or sudo")
        os.execvp("sudo", ["sudo", "-n", sys.executable, *sys.argv])
    weir = pathlib.Path(sys.argv[1]).resolve()
    batches = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10**6)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-lambda-"))
    folder.chmod(0o755)
    try:
        with engine.Dynoxide() as running:
            run(weir, folder, running, batches, seed)
    except (Failed, engine.Failed, InvocationFailed) as failure:
        log = (folder / "log").read_text(errors="replace") if (folder / "log").exists() else ""
        sys.exit(f"seed {seed}: {failure}\n" + "\n".join(log.splitlines()[-20:]))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
