"""Shared by overload.py, hostile.py and fleet.py: runs of the client, the memory of a
server meanwhile, tables, and the output of figures."""

import json
import os
import subprocess
import sys
import time

import servers

BUILT = servers.ROOT / "build/bench"
# The preface and an empty SETTINGS frame; then the acknowledgement of the server's.
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
ACK = bytes([0, 0, 0, 4, 1, 0, 0, 0, 0])


class Failed(Exception):
    """One line: which program failed, and how."""


def add_programs(parser):
    parser.add_argument("--weir", default=BUILT / "bin/weir")
    parser.add_argument("--client", default=BUILT / "bench/weir_rls_client")


def client_command(client, server, seconds, *options):
    return ["taskset", "--cpu-list", servers.CLIENT_CORES, client, str(server.port), "--seconds",
            str(seconds), *map(str, options)]


def start_client(*arguments):
    return subprocess.Popen(client_command(*arguments), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def counts_of(process):
    """The counts of a client, after its end."""
    output, errors = process.communicate()
    if process.returncode != 0:
        raise Failed(errors.strip() or f"the client ended with {process.returncode}")
    return json.loads(output)


def run_client(*arguments):
    return counts_of(start_client(*arguments))


def memory_while(process, server, interval=0.5):
    """KB of the server, in intervals of seconds until the process ends."""
    taken = []
    while process.poll() is None:
        taken.append(server.rss_kb())
        time.sleep(interval)
    return taken


def create_table(program, url, environment):
    for verb in (["table", "create"], ["namespace", "register", "default"]):
        subprocess.run([program, "--store", url, *verb], check=True, capture_output=True,
                       env=os.environ | environment)


def show(**figures):
    for name, figure in figures.items():
        print(f"  {name.replace('_', ' '):42} {figure}", flush=True)


def run_main(name, main):
    """Ends the process with the result of `main`, or with the reason for which there is none."""
    try:
        sys.exit(main())
    except (servers.Skipped, Failed) as reason:
        sys.exit(f"{name}: {reason}")
