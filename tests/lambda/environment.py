"""An execution environment of AWS Lambda: a folder as the root, a process in it that nothing of the
machine's files is visible to, and the runtime API that it calls."""

import contextlib
import http.server
import json
import os
import pathlib
import queue
import resource
import subprocess
import sys
import threading
import time
import uuid
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "engines"))
import engine  # noqa: E402
from mapping import InvocationFailed  # noqa: E402

TASK = "/var/task"
NOBODY = 65534
MEMORY = 256 << 20
INVOCATION_SECONDS = 60
VERSION = "/2018-06-01/runtime"


def make_root(root, package, name_server):
    """The package in a root that has only what Lambda itself provides: /tmp and the resolver's file.
    The process may write to /tmp alone."""
    with zipfile.ZipFile(package) as archive:
        for entry in archive.infolist():
            path = pathlib.Path(archive.extract(entry, root / TASK[1:]))
            path.chmod(entry.external_attr >> 16)
    (root / "etc").mkdir()
    (root / "etc/resolv.conf").write_text(f"nameserver {name_server}\noptions timeout:2\n")
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    for folder in (root, root / "var", root / TASK[1:], root / TASK[1:] / "lib", root / "etc"):
        folder.chmod(0o555)


class RuntimeApi(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path != f"{VERSION}/invocation/next":
            return self.reply(404)
        # Without a limit, as Lambda.
        event = self.server.events.get()
        if event is None:
            return self.reply(500)
        self.server.request = str(uuid.uuid4())
        deadline = int((time.time() + INVOCATION_SECONDS) * 1000)
        return self.reply(200, event, {"Lambda-Runtime-Aws-Request-Id": self.server.request,
                                       "Lambda-Runtime-Deadline-Ms": str(deadline)})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        kind = self.path.rpartition("/")[2]
        expected = f"{VERSION}/invocation/{self.server.request}/{kind}"
        if self.path not in (expected, f"{VERSION}/init/error"):
            return self.reply(400, b'{"errorType":"InvalidRequestID"}')
        self.server.outcomes.put((kind, body))
        return self.reply(202)

    def reply(self, status, body=b"", headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class ApiServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """The connections of a killed process are broken."""


class Environment:
    """One process and its API. It ends with the process."""

    def __init__(self, root, variables, log):
        self.server = ApiServer(("127.0.0.1", 0), RuntimeApi)
        self.server.events, self.server.outcomes = queue.Queue(), queue.Queue()
        self.server.request = ""
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.peak = 0
        address = f"127.0.0.1:{self.server.server_address[1]}"
        self.process = subprocess.Popen(
            [f"{TASK}/bootstrap"], preexec_fn=lambda: enter(root), stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, env=variables | {
                "AWS_LAMBDA_RUNTIME_API": address, "LAMBDA_TASK_ROOT": TASK, "PATH": "",
                "AWS_LAMBDA_FUNCTION_NAME": "counting"})

    def invoke(self, event):
        """The response, as text."""
        self.server.events.put(json.dumps(event).encode())
        kind, body = self.outcome()
        if kind != "response":
            raise InvocationFailed(f"{kind}: {body}")
        return body

    def outcome(self):
        """The kind and the body of the next report."""
        until = time.monotonic() + INVOCATION_SECONDS
        while time.monotonic() < until:
            with contextlib.suppress(queue.Empty):
                return self.server.outcomes.get(timeout=0.05)
            if self.process.poll() is not None:
                with contextlib.suppress(queue.Empty):
                    return self.server.outcomes.get_nowait()
                return "ended", str(self.process.returncode)
        self.kill()
        return "timed out", ""

    def note_memory(self):
        with contextlib.suppress(OSError):
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
            peak, = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
            self.peak = max(self.peak, int(peak) << 10)

    def kill(self):
        self.note_memory()
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        self.server.events.put(None)  # for a handler that waits
        self.server.shutdown()
        self.server.server_close()


def enter(root):
    """In the new process: the root, its memory, and no rights."""
    engine.LIBC.prctl(engine.PR_SET_PDEATHSIG, 9)
    os.chroot(root)
    os.chdir(TASK)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
