"""Real servers for tests: each a context manager, on a free loopback port, ended with its block.

    with Dynoxide() as engine:
        use(engine.url)

A server ends too when the thread that began it does, however that ends. Its log stands in a
temporary folder and goes with the block. install.py installs the servers.
"""

import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ENGINES = HERE.parent.parent / "build/deps/engines"
PYTHON = ENGINES / "default/venv/bin/python"
DEAGGREGATOR = ENGINES / "kinesis/python"  # a folder for PYTHON's path
RATE_LIMITER_PY = ENGINES / "rate_limiter_py/python"  # a folder for PYTHON's path
START_SECONDS = 30
WAIT_SECONDS = 60
ASK_AGAIN_SECONDS = 0.02
STOP_SECONDS = 5
TRIES = 3  # somebody else may take a port between finding it free and listening on it
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
# What the engines that check for one want to see; none of them verifies this.
ANY_SIGNATURE = ("AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/{service}/aws4_request, "
                 "SignedHeaders=host, Signature=0")


class Failed(Exception):
    """One line: what, where, what would be right."""


def start(command, **options):
    """A process that is killed when the calling thread ends."""
    parent = os.getpid()

    def die_with_parent():
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return subprocess.Popen(command, preexec_fn=die_with_parent, **options)


@contextlib.contextmanager
def stopped(process):
    """The process does not run within the block."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def wait_until(holds, what, seconds=WAIT_SECONDS):
    """Returns when `holds` returns True. `what` completes the message of a failure."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            raise Failed(f"waited {seconds} s until {what}")
        time.sleep(ASK_AGAIN_SECONDS)


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [opened.getsockname()[1] for opened in sockets]
    for opened in sockets:
        opened.close()
    return ports


def post(url, body, headers, seconds=10):
    request = urllib.request.Request(url, body.encode(), headers)
    with urllib.request.urlopen(request, timeout=seconds) as answer:
        return answer.read().decode()


def call_dynamodb(url, operation, request):
    """One unsigned call. What the engine refuses is an urllib.error.HTTPError."""
    return json.loads(post(url, json.dumps(request), {
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "X-Amz-Date": "20260101T000000Z",
        "Authorization": ANY_SIGNATURE.format(service="dynamodb")}))


def call_kinesis(url, operation, request):
    """As call_dynamodb."""
    answer = post(url, json.dumps(request), {
        "Content-Type": "application/x-amz-json-1.1",
        "X-Amz-Target": f"Kinesis_20131202.{operation}",
        "X-Amz-Date": "20260101T000000Z",
        "Authorization": ANY_SIGNATURE.format(service="kinesis")})
    return json.loads(answer) if answer else {}


def loopback_only(folder):
    """Settings that keep a server in which would listen on every interface; built in `folder`."""
    library = folder / "loopback.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, HERE / "loopback.c"], check=True)
    return {"LD_PRELOAD": str(library)}


class Engine:
    """`url`: where it answers. `access_key`, `secret_key`: whom it takes requests from. A subclass
    has `command(port, *extra_ports)`."""

    needs = ENGINES / "default/stamp"
    extra_ports = 0
    access_key = secret_key = "test"

    def ping(self):
        call_dynamodb(self.url, "ListTables", {})

    def endpoints(self):
        return {"AWS_ENDPOINT_URL_DYNAMODB": self.url, "WEIR_TEST_DYNAMODB": self.url}

    def environment(self):
        """For a program that is to use this engine; without other AWS settings of the caller."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return kept | self.endpoints() | {
            "AWS_ACCESS_KEY_ID": self.access_key, "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true"}

    def __enter__(self):
        if not self.needs.exists():
            name = self.needs.parent.name
            wanted = [] if name in ("default", "kinesis") else [name]
            raise Failed(" ".join([f"{type(self).__name__} is not installed: run",
                                   "tests/engines/install.py", *wanted]))
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-engine-"))
        try:
            self.try_to_start()
        except (OSError, subprocess.SubprocessError) as error:
            self.__exit__()
            raise Failed(f"{type(self).__name__} does not start: {error}") from None
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder)

    def try_to_start(self):
        for _ in range(TRIES):
            self.ports = free_ports(1 + self.extra_ports)
            self.url = f"http://127.0.0.1:{self.ports[0]}"
            if self.launch():
                return
        raise Failed(f"{type(self).__name__} does not start: {self.log_tail(3)}")

    def launch(self):
        """On the ports it has. True: it answers."""
        with open(self.folder / "log", "ab") as log:
            self.process = start(self.command(*self.ports), stdin=subprocess.DEVNULL, stdout=log,
                                 stderr=log, cwd=self.folder, env=self.own_environment())
        if self.answers():
            return True
        self.stop()
        return False

    def own_environment(self):
        return dict(os.environ) | {"HOME": str(self.folder)}

    def answers(self):
        """Waits. False: it ended, or does not answer in time."""
        until = time.monotonic() + START_SECONDS
        while self.process.poll() is None and time.monotonic() < until:
            try:
                self.ping()
                return True
            except (OSError, http.client.HTTPException):
                time.sleep(ASK_AGAIN_SECONDS)
        return False

    def stop(self):
        process = getattr(self, "process", None)
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def log_tail(self, lines=20):
        text = (self.folder / "log").read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])


class Dynoxide(Engine):
    """DynamoDB, in memory, or `durable`, in a file that outlives kill(). It deletes what expired
    only when sweep_ttl() tells it to."""

    extra_ports = 1

    def __init__(self, durable=False):
        self.durable = durable

    def command(self, port, mcp_port):
        kept = ["--db-path", self.folder / "data.db"] if self.durable else []
        return [ENGINES / "default/dynoxide/package/dynoxide", "serve", "--host", "127.0.0.1",
                "--port", str(port), "--mcp", "--mcp-no-auth", "--mcp-port", str(mcp_port), *kept]

    def kill(self):
        """Without a chance to say anything."""
        self.process.kill()
        self.process.wait()

    def start_again(self):
        """After kill(): where it was, with what it had if it is durable."""
        if not any(self.launch() for _ in range(TRIES)):
            raise Failed(f"dynoxide does not start again: {self.log_tail(3)}")

    @property
    def control_url(self):
        return f"http://127.0.0.1:{self.ports[1]}/mcp"

    def environment(self):
        return super().environment() | {"WEIR_TEST_DYNOXIDE_CONTROL": self.control_url}

    def sweep_ttl(self):
        """Deletes the items whose time to live is over."""
        answer = post(self.control_url, json.dumps({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "sweep_ttl", "arguments": {}}}), {
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream"})
        if '"error"' in answer or '"isError":true' in answer:
            raise Failed(f"dynoxide: sweep_ttl failed: {answer}")


class Moto(Engine):
    """Many services, one request at a time. With `verify` signatures and permissions count, and
    `access_key` may do `actions`."""

    def __init__(self, verify=False, actions=("*",)):
        self.verify, self.actions = verify, actions

    def command(self, port):
        return [PYTHON, HERE / "moto_in_turn.py", str(port)]

    def ping(self):
        with urllib.request.urlopen(f"{self.url}/moto-api/data.json", timeout=10):
            pass

    def environment(self):
        return super().environment() | {"AWS_ENDPOINT_URL": self.url}

    def try_to_start(self):
        super().try_to_start()
        if self.verify:
            self.access_key, self.secret_key = self.make_user()
            self.verify_after(0)

    def own_environment(self):
        """Making the user passes without verification, whatever the caller's setting."""
        return super().own_environment() | {"INITIAL_NO_AUTH_ACTION_COUNT": "inf"}

    def verify_after(self, requests):
        """Sets INITIAL_NO_AUTH_ACTION_COUNT: so many requests more pass without verification."""
        post(f"{self.url}/moto-api/reset-auth", str(requests), {"Content-Type": "text/plain"})

    def call_iam(self, action, **parameters):
        form = urllib.parse.urlencode({"Action": action, "Version": "2010-05-08", **parameters})
        return post(self.url, form, {"Authorization": ANY_SIGNATURE.format(service="iam"),
                                     "Content-Type": "application/x-www-form-urlencoded"})

    def make_user(self):
        allowed = {"Effect": "Allow", "Action": list(self.actions), "Resource": "*"}
        self.call_iam("CreateUser", UserName="test")
        self.call_iam("PutUserPolicy", UserName="test", PolicyName="test", PolicyDocument=json.dumps(
            {"Version": "2012-10-17", "Statement": [allowed]}))
        answer = self.call_iam("CreateAccessKey", UserName="test")
        return tuple(answer.split(f"<{tag}>")[1].split("<")[0]
                     for tag in ("AccessKeyId", "SecretAccessKey"))


class DynamoDbLocal(Engine):
    """Amazon's own, under Amazon's licence: only when asked for. Needs java and cc."""

    needs = ENGINES / "dynamodb-local/stamp"

    def command(self, port):
        jar, = (ENGINES / "dynamodb-local").glob("package/lib/*/DynamoDBLocal.jar")
        return ["java", "-Xmx1g", "-jar", jar, "-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port)]

    def own_environment(self):
        native, = (ENGINES / "dynamodb-local").glob("package/lib/*/DynamoDBLocal_lib")
        settings = {"DDB_LOCAL_TELEMETRY": "0", "LD_LIBRARY_PATH": str(native)}
        return super().own_environment() | loopback_only(self.folder) | settings


class Kinesis(Engine):
    """What the engines for Kinesis share: they listen on all interfaces unless they are kept from
    it, which needs cc."""

    def ping(self):
        call_kinesis(self.url, "ListStreams", {})

    def own_environment(self):
        return super().own_environment() | loopback_only(self.folder)

    def endpoints(self):
        return {"AWS_ENDPOINT_URL_KINESIS": self.url}

    def create_stream(self, name, shards):
        call_kinesis(self.url, "CreateStream", {"StreamName": name, "ShardCount": shards})
        self.wait_for_stream(name)

    def wait_for_stream(self, name):
        """Returns when it is made, or its shards are split or merged."""
        wait_until(lambda: self.status(name) == "ACTIVE",
                   f"{type(self).__name__}: stream {name} is active", START_SECONDS)

    def status(self, stream):
        told = call_kinesis(self.url, "DescribeStreamSummary", {"StreamName": stream})
        return told["StreamDescriptionSummary"]["StreamStatus"]


class KinesisLocal(Kinesis):
    """Shards, splits and merges as the service has them, no limits; slow, and slower with each
    record it holds."""

    needs = ENGINES / "kinesis/stamp"
    extra_ports = 1  # TLS

    def command(self, port, tls_port):
        return ["node", ENGINES / "kinesis/kinesis-local/package/main.js"]

    def own_environment(self):
        plain, tls = map(str, self.ports)
        certificate = ENGINES / "kinesis/kinesis-local/package/server.json"
        quick = {f"{what}_DURATION": "20ms" for what in (
            "CREATE_STREAM", "SPLIT_SHARD", "MERGE_SHARDS", "UPDATE_SHARD_COUNT")}
        return super().own_environment() | quick | {
            "KINESIS_MOCK_PLAIN_PORT": plain, "KINESIS_MOCK_TLS_PORT": tls,
            "KINESIS_MOCK_CERT_PATH": str(certificate), "LOG_LEVEL": "ERROR", "SHARD_LIMIT": "200"}


class Ferrokinesis(Kinesis):
    """Fast, and the one that throttles, if `limits`: each shard takes 1000 records and 1 MiB in
    each whole second of its clock, without their partition keys. It lists closed shards whatever
    the filter. Only when asked for."""

    needs = ENGINES / "ferrokinesis/stamp"

    def __init__(self, limits=True):
        self.limits = limits

    def command(self, port):
        return [ENGINES / "ferrokinesis/bin/ferrokinesis", "--port", str(port), "--enforce-limits",
                str(self.limits).lower(), "--create-stream-ms", "20", "--update-stream-ms", "20",
                "--shard-limit", "200", "--max-request-body-mb", "16", "--log-level", "warn"]
