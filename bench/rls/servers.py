"""The servers of `./dev bench rls`: how each is built, configured and started.

All have 100 rules that say the same: a user of the domain `edge` may send more requests than the
benchmark sends, a user of `tight` one request an hour. A server that is not installed is skipped with a reason.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PEERS = ROOT / "build/rls"
RATELIMIT = ("github.com/envoyproxy/ratelimit/src/service_cmd"
             "@v1.4.1-0.20260122083618-3fb702589d36")
UNUSED_RULES = 98
SERVER_CORES, CLIENT_CORES = "0", "1"


class Skipped(Exception):
    """One line: which server is left out, and why."""


def free_port():
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    """A server that runs, as one process or several."""

    def __init__(self, name):
        self.name = name
        self.processes = []
        self.port = free_port()
        self.folder = tempfile.TemporaryDirectory()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
            process.wait()
        self.folder.cleanup()

    def start(self, *command, cores=SERVER_CORES, **environment):
        log = open(f"{self.folder.name}/log", "ab")
        with log:
            self.processes.append(subprocess.Popen(
                ["taskset", "--cpu-list", cores, *map(str, command)], stdout=log, stderr=log,
                env=os.environ | environment))

    def wait_for(self, port):
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                return
            time.sleep(0.05)
        log = pathlib.Path(f"{self.folder.name}/log").read_text(errors="replace").splitlines()
        raise Skipped(f"{self.name} does not listen: {log[-1] if log else 'it wrote no log'}")

    def cpu_us(self):
        """Of all threads, from the start on."""
        return self.scheduled_us(0)

    def waiting_us(self):
        """The time for which threads wanted to run and other processes had the core."""
        return self.scheduled_us(1)

    def scheduled_us(self, column):
        return sum(int(stat.read_text().split()[column]) / 1_000
                   for process in self.processes
                   for stat in pathlib.Path(f"/proc/{process.pid}/task").glob("*/schedstat"))

    def rss_kb(self):
        return sum(int(line.split()[1])
                   for process in self.processes
                   for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
                   if line.startswith("VmRSS:"))


def weir_rules():
    unused = [f"      - {{match: {{path{i}: /p{i}}}, limits: {{requests: 100/min}}}}"
              for i in range(UNUSED_RULES)]
    return "\n".join(["domains:", "  edge:", "    rules:",
                      "      - {match: user, limits: {requests: 1000000/sec}}", *unused,
                      "  tight:", "    rules:",
                      "      - {match: user, limits: {requests: 1/hour}}", ""])


def weir(program, store="memory:", threads=1, cores=SERVER_CORES, options=(), rules=None, **environment):
    """`rules`: the text of a rules file, in place of those that all servers have."""
    server = Server("weir")
    if not pathlib.Path(program).exists():
        raise Skipped(f"{program} is missing: ./dev bench builds it")
    rules_file = pathlib.Path(server.folder.name) / "rules.yaml"
    rules_file.write_text(rules or weir_rules())
    admin = free_port()
    server.metrics_url = f"http://127.0.0.1:{admin}/metrics"
    server.start(program, "serve", "--store", store.format(folder=server.folder.name), "--rules",
                 rules_file, "--grpc", f"127.0.0.1:{server.port}", "--admin", f"127.0.0.1:{admin}",
                 "--threads", threads, *options, cores=cores, **environment)
    server.wait_for(server.port)
    return server


def metrics_of(server):
    with contextlib.closing(urllib.request.urlopen(server.metrics_url)) as response:
        return response.read().decode()


def build_limitador():
    if shutil.which("cargo") is None:
        raise Skipped("limitador is left out: cargo is missing (Debian: cargo-web, rustc-web)")
    done = subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "--target-dir",
                           PEERS / "limitador"], cwd=HERE / "limitador", check=False)
    if done.returncode != 0:
        raise Skipped("limitador is left out: cargo cannot build bench/rls/limitador")
    return PEERS / "limitador/release/rls-limitador"


def limitador(program):
    server = Server("limitador")
    server.start(program, f"127.0.0.1:{server.port}")
    server.wait_for(server.port)
    return server


def build_ratelimit():
    missing = [tool for tool in ("go", "redis-server") if shutil.which(tool) is None]
    if missing:
        raise Skipped(f"envoyproxy/ratelimit is left out: {' and '.join(missing)} is missing")
    program = PEERS / "ratelimit/service_cmd"
    if program.exists():
        return program
    done = subprocess.run(["go", "install", RATELIMIT], check=False,
                          env=os.environ | {"GOBIN": str(program.parent)})
    if done.returncode != 0:
        raise Skipped(f"envoyproxy/ratelimit is left out: go cannot install {RATELIMIT}")
    return program


def write_ratelimit_rules(folder):
    def domain(name, rules):
        lines = [f"domain: {name}", "descriptors:"]
        for key, count, unit in rules:
            lines += [f"  - key: {key}", "    rate_limit:", f"      unit: {unit}",
                      f"      requests_per_unit: {count}"]
        (folder / f"{name}.yaml").write_text("\n".join(lines) + "\n")
    folder.mkdir(parents=True)
    domain("edge", [("user", 4_000_000_000, "hour"),
                    *((f"path{i}", 100, "minute") for i in range(UNUSED_RULES))])
    domain("tight", [("user", 1, "hour")])


def ratelimit(program):
    """With Redis on the same core, and with its pipeline window and local cache, which
    are the cheapest settings. CPU time is that of both."""
    server = Server("ratelimit")
    folder = pathlib.Path(server.folder.name)
    write_ratelimit_rules(folder / "current/ratelimit/config")
    redis = free_port()
    server.start("redis-server", "--port", redis, "--save", "", "--appendonly", "no",
                 "--bind", "127.0.0.1")
    server.wait_for(redis)
    server.start(program, RUNTIME_ROOT=str(folder), RUNTIME_SUBDIRECTORY="current/ratelimit",
                 RUNTIME_WATCH_ROOT="false", REDIS_SOCKET_TYPE="tcp",
                 REDIS_URL=f"127.0.0.1:{redis}", REDIS_PIPELINE_WINDOW="150us",
                 LOCAL_CACHE_SIZE_IN_BYTES="10000000", USE_STATSD="false", LOG_LEVEL="error",
                 GRPC_HOST="127.0.0.1", GRPC_PORT=str(server.port), HOST="127.0.0.1",
                 PORT=str(free_port()), DEBUG_HOST="127.0.0.1", DEBUG_PORT=str(free_port()),
                 GOMAXPROCS="1")
    server.wait_for(server.port)
    return server
