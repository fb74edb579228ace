#!/usr/bin/env python3
"""Three processes of Weir's rate limit service on one table, with allowances; one is killed.

usage: fleet.py [--rate N] [--lifetime MS] [--seconds S] [--weir PROGRAM] [--client PROGRAM]

The table is that of a dynoxide (tests/engines/install.py installs it). Each of 10 keys has a limit of
1,000 a second with a capacity of 1,000 and an allowance (docs/design/allowances.md). Three clients, one
for each process, together make 20,000 calls a second, which is twice what the limits admit. Half-way one
process gets SIGKILL; the calls of its client then go to the other two. The servers run on core 0, the
clients on core 1, the engine on both.

The output shows, for each key, the admitted calls as a share of capacity + rate * time, of which it must
be at most all and at least 95 %; the calls to the store as a share of the decisions, at most 1 %; and
whether an interval has more admissions than capacity + rate * time. An admission is in an interval if the
call was due and its result arrived in it, so that the decision certainly fell into it. The exit code is 1 if
a figure does not hold.
"""

import argparse
import collections
import contextlib
import pathlib
import re
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the sources stay as they are
import runs
import servers

sys.path.append(str(servers.ROOT / "tests/engines"))
import engine  # noqa: E402

PROCESSES = 3
KEYS = 10
LIMIT = 1_000  # capacity, and tokens of each key in a second
LEAST_SHARE = 0.95
MOST_STORE_CALLS = 0.01
GRID_US = 100_000  # the intervals that are checked begin at its multiples


def rules_of(lifetime):
    return (f"domains:\n  edge:\n    rules:\n"
            f"      - {{match: user, limits: {{requests: {LIMIT}/sec~{lifetime}ms}}}}\n")


def metrics(server):
    """The metrics, and the sums of those with one name."""
    sums = collections.Counter()
    for name, labels, value in re.findall(r"^(\w+)(\{.*\})? (\S+)$", servers.metrics_of(server), re.M):
        sums[name] += float(value)
        if labels:
            sums[name + labels] += float(value)
    return sums


def fate_of(fate):
    """The name of the metric."""
    return f'weir_allowance_tokens_total{{fate="{fate}"}}'


class Clients:
    """Each writes a log of its decisions."""

    def __init__(self, program, folder):
        self.program, self.folder, self.running = program, folder, []

    def start(self, server, rate, seconds):
        log = self.folder / str(len(self.running))
        self.running.append((log, runs.start_client(
            self.program, server, seconds, "--warm-up", 0, "--rate", rate, "--keys", KEYS, "--log", log)))

    def counts(self, killed):
        """Of all but those whose server was killed."""
        return [runs.counts_of(process) for i, (_, process) in enumerate(self.running) if i not in killed]

    def decisions(self):
        """(key, due, got, is admitted), times in microseconds."""
        for log, _ in self.running:
            for line in log.read_text().splitlines():
                key, due, got, verdict = line.split()
                yield int(key), int(due), int(got), verdict == "ok"


def largest_excess(calls):
    """The most that an interval admits above capacity + rate * time, in tokens; negative: room. `calls`:
    (due, got) of the admitted calls of a key."""
    by_result = sorted((got, due) for due, got in calls)
    worst = -LIMIT
    for start in range(min(due for due, _ in calls) // GRID_US * GRID_US, by_result[-1][0], GRID_US):
        count = 0
        for got, due in by_result:
            if due >= start:
                count += 1
                worst = max(worst, count - LIMIT - LIMIT * (got - start) / 1e6)
    return worst


def load(arguments, fleet, folder):
    """The decisions, the metrics of all processes, and the other results of the clients."""
    clients = Clients(arguments.client, folder)
    rate, half = arguments.rate / len(fleet), arguments.seconds / 2
    begun = time.monotonic()
    for server in fleet:
        clients.start(server, rate, arguments.seconds)
    time.sleep(half)
    sums = metrics(fleet[0])
    fleet[0].processes[0].kill()
    fleet[0].processes[0].wait()
    clients.running[0][1].wait()
    rest = begun + arguments.seconds - time.monotonic()
    for server in fleet[1:]:
        clients.start(server, rate / (len(fleet) - 1), rest)
    counts = clients.counts(killed={0})
    for server in fleet[1:]:
        sums += metrics(server)
    return list(clients.decisions()), sums, counts


def report(arguments, decisions, sums, counts):
    """Prints the figures and returns what does not hold."""
    first, last = min(due for _, due, _, _ in decisions), max(got for _, _, got, _ in decisions)
    bound = LIMIT + LIMIT * (last - first) / 1e6
    admitted = {key: [] for key in range(KEYS)}
    for key, due, got, is_admitted in decisions:
        if is_admitted:
            admitted[key].append((due, got))
    shares = [len(calls) / bound for calls in admitted.values()]
    excess = max(largest_excess(calls) for calls in admitted.values() if calls)
    calls = sums["weir_limiter_store_requests_total"]
    store = calls / len(decisions)
    failed = sum(one["errors"] + one["exhausted"] + one["deadline"] for one in counts)
    print(f"fleet: {PROCESSES} processes, one killed; {KEYS} keys; allowances of {arguments.lifetime} ms; "
          f"{(last - first) / 1e6:.2f} s")
    runs.show(
        decisions=f"{len(decisions):,}, {arguments.rate:,} a second were due",
        admitted_of_each_key=f"{' '.join(f'{len(calls):,}' for calls in admitted.values())}",
        as_a_share_of_capacity_and_refill=f"{min(shares):.2%} to {max(shares):.2%} of {bound:,.0f}",
        room_in_the_fullest_interval=f"{-excess:,.0f} tokens",
        calls_to_the_store=f"{calls:,.0f}, {store:.2%} of the decisions; "
                           f"{sums['weir_aws_requests_total']:,.0f} requests of DynamoDB",
        from_an_allowance=f"{sums['weir_allowance_decisions_total']:,.0f} decisions, "
                          f"{sums['weir_allowance_debits_total']:,.0f} debits",
        tokens=", ".join(f"{sums[fate_of(fate)]:,.0f} {fate}"
                         for fate in ("debited", "spent", "returned", "forfeited")),
        failed=f"{failed:,}, without the calls in flight at the killed process; not sent: "
               f"{sum(one['unsent'] for one in counts):,}",
        p99=f"{max(one['p99_us'] for one in counts) / 1000:.1f} ms, of the slowest client")
    return [text for holds, text in (
        (max(shares) <= 1, "a key has more than its capacity and refill"),
        (min(shares) >= LEAST_SHARE, f"a key has {min(shares):.2%}"),
        (excess <= 0, f"an interval has {excess:,.0f} too many"),
        (store <= MOST_STORE_CALLS, f"{store:.2%} calls to the store"),
        (failed == 0, f"{failed:,} calls failed")) if not holds]


def main():
    parser = argparse.ArgumentParser(prog="fleet.py")
    parser.add_argument("--rate", type=float, default=20_000, help="calls a second, of all clients")
    parser.add_argument("--lifetime", type=int, default=400, help="of an allowance, in milliseconds")
    parser.add_argument("--seconds", type=float, default=20)
    runs.add_programs(parser)
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(engine.Dynoxide())
        environment = running.environment()
        store = "dynamodb://bench"
        runs.create_table(arguments.weir, store, environment)
        fleet = [stack.enter_context(servers.weir(arguments.weir, store=store,
                                                  rules=rules_of(arguments.lifetime), **environment))
                 for _ in range(PROCESSES)]
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        faults = report(arguments, *load(arguments, fleet, folder))
    runs.show(verdict="holds" if not faults else "DOES NOT HOLD: " + "; ".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    runs.run_main("fleet", main)
