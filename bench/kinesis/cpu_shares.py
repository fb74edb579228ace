"""The shares of a program's CPU time by component, in percent.

Needs perf (Debian: linux-perf).
"""

import collections
import os
import re
import shutil
import subprocess
import tempfile


def named(*pairs):
    return [(name, re.compile(pattern)) for name, pattern in pairs]


# A sample belongs to the first of these that knows any of its frames,
WITHIN = named(
    ("start", r"load_system_certs|MakePool"),
    ("hash of keys", r"HashOfPartitionKey"),
    ("checksum of aggregates", r"kinesis::Md5Of"),
    ("signing", r"aws_sign_request|s_perform_signing"))
# or else to the first of its frames, from the innermost outwards, that one of these knows.
INNERMOST = named(
    ("malloc", r"^(malloc|cfree|free|calloc|realloc|_int_|operator (new|delete)|unlink_chunk"
               r"|malloc_consolidate|sysmalloc|systrim|tcache)"),
    ("driver", r"weir::bench::"),
    ("serialise", r"PutRecordsBody|ReadPutRecords|ListShards|Base64|kinesis::.*(Json|Cbor)"),
    ("put and results", r"kinesis::(Producer|Ledger|BufferQuota|Prepare|.*Receipt|.*CheckKey)"),
    ("aggregate", r"kinesis::Aggregat"),
    ("other stages", r"kinesis::"),
    ("TLS", r"^s2n_|s_s2n"),
    ("scheduler", r"weir::Loop"),
    ("HTTP runtime", r"^aws_|^s_|weir::(Json|Crt|Http|.*Retry|.*Client|\(anonymous)"))
KERNEL = named(
    ("kernel: network", r"^(tcp_|inet_|sock_|__sys_send|__sys_recv|ksys_(read|write)v?|do_writev)"),
    ("kernel: memory", r"page_fault|mmap|munmap|madvise|brk"),
    ("kernel: threads", r"futex|schedule|epoll|eventfd|task_switch"))


def first(frames, patterns):
    return next((name for symbol, _ in frames for name, pattern in patterns
                 if pattern.search(symbol)), None)


def component(frames):
    """Of a call chain, innermost first: pairs of symbol and object."""
    if "kernel" in frames[0][1]:
        return first(frames, KERNEL) or "kernel: rest"
    anywhere = (name for name, pattern in WITHIN
                if any(pattern.search(symbol) for symbol, _ in frames))
    return next(anywhere, None) or first(frames, INNERMOST) or "rest"


def chains(text):
    """Yields the frames of each sample in the output of perf script, which has a frame on each line and a blank
    line after each sample."""
    frames = []
    for line in text.splitlines() + [""]:
        match = re.match(r"\s+[0-9a-f]+ (.*) \((.*)\)$", line)
        if match:
            frames.append(match.groups())
        elif frames:
            yield frames
            frames = []


def measure(command, environment):
    """Component -> percent; empty if perf is missing or may not be used."""
    if shutil.which("perf") is None:
        return {}
    with tempfile.TemporaryDirectory() as scratch:
        data = os.path.join(scratch, "perf.data")
        done = subprocess.run(["perf", "record", "--quiet", "--event", "cpu-clock", "--freq", "499",
                               "--call-graph", "dwarf,8192", "--output", data, "--", *command],
                              env=environment, check=False, capture_output=True)
        if done.returncode != 0:
            return {}
        text = subprocess.run(["perf", "script", "--input", data, "--fields", "ip,sym,dso"],
                              check=True, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout
    counts = collections.Counter(component(frames) for frames in chains(text))
    return {name: 100 * count / counts.total() for name, count in counts.most_common()}
