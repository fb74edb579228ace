#!/usr/bin/env python3
"""Weir's rate limit service under more load than its store serves, and with idle connections.

usage: overload.py [--only NAME] [--seconds S] [--connections N] [--weir PROGRAM] [--client PROGRAM]

file, table: a file with `--durability strict`, and a table of a dynoxide behind a proxy that delays
each response by 5 ms (tests/engines/install.py installs the engine). The capacity is measured in a
closed loop; then calls begin at four times that rate, each with a deadline of 100 ms, on 16
connections. The output shows the decisions as a share of the capacity, the results after the
deadline and 5 ms, and the growth of the server's memory from 5 s on.

idle: the memory of connections that have made the handshake of HTTP/2 and nothing else, while
5,000 calls a second are served at the same time.
"""

import argparse
import contextlib
import pathlib
import resource
import socket
import subprocess
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True  # the sources stay as they are
import runs
import servers

sys.path.append(str(servers.ROOT / "tests/engines"))
import engine  # noqa: E402

HERE = servers.HERE
DEADLINE_MS = 100


def overload_file(program, client, seconds):
    strict = ("--durability", "strict")
    with servers.weir(program, store="sqlite:{folder}/weir.db", options=strict) as server:
        print("file, strict:")
        overload(server, client, seconds)


def share_client_core(process):
    """With the server on its core, the engine would be slower the more the server has to refuse. It
    yields to the client, which would otherwise measure the time for which the engine has the core."""
    tasks = [task.name for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir()]
    for command in (["taskset", "--all-tasks", "--cpu-list", "--pid", servers.CLIENT_CORES,
                     str(process.pid)], ["renice", "--priority", "5", "--pid", *tasks]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def delayed(url, milliseconds):
    """The URL of a proxy before this one."""
    port = urllib.parse.urlsplit(url).port
    process = subprocess.Popen([HERE / "delay_proxy.py", str(port), str(milliseconds)],
                               stdout=subprocess.PIPE, text=True)
    share_client_core(process)
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait()


def overload_table(program, client, seconds):
    with engine.Dynoxide() as running, delayed(running.url, 5) as url:
        share_client_core(running.process)
        store = f"dynamodb://bench?endpoint={url}&region=us-east-1"
        environment = running.environment()
        runs.create_table(program, store, environment)
        # With its stream, dynoxide serves fewer writes with each one: 1,100 a second, after 12 s 220.
        engine.call_dynamodb(running.url, "UpdateTable", {
            "TableName": "bench", "StreamSpecification": {"StreamEnabled": False}})
        with servers.weir(program, store=store, **environment) as server:
            print("table, 5 ms:")
            overload(server, client, seconds)


def overload(server, client, seconds):
    many = ("--connections", 16, "--draw-keys", "--sleep")
    runs.run_client(client, server, 2, "--in-flight", 256, *many)  # the buckets exist
    capacity = runs.run_client(client, server, 5, "--in-flight", 1_024, *many)["per_s"]
    load = runs.start_client(client, server, seconds, "--rate", 4 * capacity, *many,
                             "--timeout-ms", DEADLINE_MS)
    memory = runs.memory_while(load, server)
    counts = runs.counts_of(load)
    # Single calls, while those of the closed loop share writes.
    after = runs.run_client(client, server, 2, "--rate", capacity / 4, "--warm-up", 1, *many)
    settled = memory[min(10, len(memory) - 1)]
    results = sum(counts[name] for name in ("decisions", "deadline", "exhausted", "errors"))
    print(f"  {seconds:.0f} s, four times the capacity of {capacity:,.0f}/s")
    runs.show(decisions_of_the_capacity=f"{counts['decisions'] / (seconds + 0.5) / capacity:.1%}",
              results=f"{results:,}", DEADLINE_EXCEEDED=f"{counts['deadline']:,}",
              RESOURCE_EXHAUSTED=f"{counts['exhausted']:,}", other_errors=f"{counts['errors']:,}",
              not_sent_because_all_streams_were_in_use=f"{counts['unsent']:,}",
              later_than_the_deadline_and_5_ms=f"{counts['late']:,}",
              longest_time_ms=f"{counts['max_us'] / 1000:.0f}",
              memory_growth=f"{max(memory) / settled - 1:.1%} of {settled / 1024:.1f} MB",
              afterwards=f"{after['decisions']:,} decisions, {after['errors']} errors, "
                         f"p99 {after['p99_us'] / 1000:.1f} ms")


def open_idle(stack, port, count):
    sockets = [stack.enter_context(socket.create_connection(("127.0.0.1", port)))
               for _ in range(count)]
    for one in sockets:
        one.sendall(runs.HELLO)
    for one in sockets:
        one.recv(65_536)
        one.sendall(runs.ACK)


def idle(program, client, seconds, count):
    # Two descriptors for each connection: those of this process and those of the server.
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    count = min(count, limit - 1_000)
    with servers.weir(program) as server, contextlib.ExitStack() as stack:
        runs.run_client(client, server, 2)
        before = server.rss_kb()
        open_idle(stack, server.port, count)
        time.sleep(1)
        each = (server.rss_kb() - before) / count
        counts = runs.run_client(client, server, seconds, "--rate", 5_000)
        print(f"idle, {count:,} connections, {seconds:.0f} s with 5,000 calls a second at the same time")
        runs.show(memory_of_a_connection=f"{each:.1f} KB",
                  served_within_50_ms=f"{counts['in_50_ms'] / counts['measured']:.2%}",
                  p99=f"{counts['p99_us'] / 1000:.2f} ms", errors=counts["errors"])


def main():
    parser = argparse.ArgumentParser(prog="overload.py")
    parser.add_argument("--only", choices=("file", "table", "idle"))
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--connections", type=int, default=10_000)
    runs.add_programs(parser)
    arguments = parser.parse_args()
    common = (arguments.weir, arguments.client, arguments.seconds)
    loads = {"file": lambda: overload_file(*common), "table": lambda: overload_table(*common),
             "idle": lambda: idle(*common, arguments.connections)}
    for name, run in loads.items():
        if arguments.only in (None, name):
            run()


if __name__ == "__main__":
    runs.run_main("overload", main)
