#!/usr/bin/env python3
"""`weir aggregate` counts what clients of zae-limiter 0.17.0 consume, while its processes are
killed, drained and replaced.

usage: usage_test.py WEIR WEIR_PROCESS [UNITTEST_ARGUMENT...]
"""

import collections
import contextlib
import csv
import itertools
import pathlib
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the sources stay as they are
import counted  # noqa: E402
import journal  # noqa: E402
import on_table  # noqa: E402
from counted import Aggregator, sums  # noqa: E402
from on_table import OnTable  # noqa: E402
from sides import engine, limit, words_of  # noqa: E402

PARENT, CHILDREN = "org", ("kid-1", "kid-2")
TRACE = pathlib.Path(__file__).parents[2] / "examples" / "data" / "azure_llm_2023_conv.csv"
TRACE_ROWS, TENANTS, ESTIMATE = 3000, 7, 256  # the estimate of generated tokens
LIMITS = {"rpm": limit("rpm", 60, 20, 1), "tpm": limit("tpm", 9000, 3000, 1)}
THREADS = 2
WAIT_SECONDS = 120  # a lease of a killed process is valid for 30 s


class Clients:
    """Processes of zae-limiter that take tokens of one bucket each and give some back; and the
    main process of the test, which corrects leases of `solo`."""

    def __init__(self, test):
        self.test = test
        self.folder = pathlib.Path(test.enterContext(tempfile.TemporaryDirectory()))
        self.begin = time.time() * 1000
        self.running = {}  # (entity, resource) -> process
        self.journals = {}
        self.by_test = collections.defaultdict(list)  # (entity, resource) -> entries

    def start(self, entity, resource, **amounts):
        process = self.test.new_peer()
        self.test.addCleanup(process.kill)  # its threads keep it running
        file = self.folder / f"{entity}-{resource}"
        file.touch()
        self.running[entity, resource] = process
        self.journals[entity, resource] = file
        process("load", entity, resource, file, THREADS, len(self.journals), "give",
                *words_of(amounts))

    def stop(self):
        """Ends the processes after each one was admitted: they compete for the parent's tokens."""
        engine.wait_until(lambda: all(file.stat().st_size > 0 for file in self.journals.values()),
                          "each process is admitted", WAIT_SECONDS)
        for process in self.running.values():
            report = process("stop")
            self.test.assertEqual(report["errors"], 0, report)
            self.test.assertGreater(report["admitted"], 0, report)
        self.running = {}

    def correct_leases(self):
        """One that ends with debt of a limit, one that gives a part back, and a cancelled one."""
        begin = int(time.time() * 1000)
        takes = [self.test.peer.take("solo", "llm", rpm=2, tpm=40) for _ in range(3)]
        self.test.peer.end(takes[0], tpm=1100)
        self.test.peer.end(takes[1], rpm=-1, tpm=-7)
        self.test.peer.cancel(takes[2])
        self.note(("solo", "llm"), begin, rpm=3, tpm=1173)

    def note(self, bucket, begin, **amounts):
        self.by_test[bucket].append(journal.Entry(begin, int(time.time() * 1000), "take", amounts))

    def entries(self):
        """(entity, resource) -> entries. A parent is charged for its children."""
        entries = collections.defaultdict(list)
        for bucket, noted in self.by_test.items():
            entries[bucket] += noted
        for (entity, resource), file in self.journals.items():
            entries[entity, resource] += journal.read(file)
            entries[PARENT, resource] += journal.read(file)
        return entries

    def usage(self):
        return collections.Counter({
            (*bucket, *key): tokens for bucket, entries in self.entries().items()
            for key, tokens in journal.usage(entries).items()})


class UsageOfClients(OnTable):
    def setUp(self):
        super().setUp()
        self.clients = Clients(self)
        for resource in ("llm", "img"):
            self.peer.set_limits(f"resource:{resource}", *LIMITS.values())
        self.peer("entity", PARENT)
        for child in CHILDREN:
            self.peer("entity", child, PARENT)

    def aggregate(self):
        return self.closed_at_the_end(Aggregator(self.weir))

    def wait_until_counted(self, when):
        """Returns when more is counted than is consumed now."""
        bucket = (PARENT, "llm")
        consumed = journal.net_consumption(self.clients.entries()[bucket], "rpm")
        engine.wait_until(lambda: sums(counted.by_peer(self.peer, *bucket))[
            (*bucket, "daily", "rpm")] > consumed, f"usage is counted: {when}", WAIT_SECONDS)

    def assert_counted(self, when):
        """In each window; clients consume nothing now. Waits until the counts are there."""
        consumed = self.clients.usage()
        for entity, resource in self.clients.entries():
            self.assert_stored(entity, resource, consumed)
            of_bucket = collections.Counter({key: tokens for key, tokens in consumed.items()
                                             if key[:2] == (entity, resource)})
            self.assert_bucket_counted(entity, resource, of_bucket, when)

    def assert_stored(self, entity, resource, consumed):
        """The basis: the buckets count what clients were answered."""
        self.resource = resource
        for name in LIMITS:
            self.assertEqual(self.stored(entity).consumed(name),
                             sums(consumed)[entity, resource, "monthly", name], (entity, resource))

    def assert_bucket_counted(self, entity, resource, consumed, when):
        def wrong():
            usage = counted.by_peer(self.peer, entity, resource)
            return counted.differences(sums(usage), sums(consumed))
        with contextlib.suppress(engine.Failed):
            engine.wait_until(lambda: not wrong(), when, WAIT_SECONDS)
        self.assertEqual(wrong(), {}, f"{when}: tokens that zae-limiter shows, and that its "
                         "clients consumed")
        self.assertIsNone(counted.difference_of_peer(self.peer, entity, resource))
        usage = counted.by_peer(self.peer, entity, resource)
        for key in usage.keys() | consumed.keys():
            self.assertAlmostEqual(usage[key], consumed[key], delta=self.doubtful(key), msg=key)
        self.assertEqual(counted.differences(counted.by_weir(self.weir, entity, resource), usage),
                         {}, f"{when}: tokens that weir shows, and zae-limiter")

    def doubtful(self, key):
        """How much may be in the window before or after: requests in flight when one began."""
        *_, window, _, name = key
        starts = {journal.start_of(window, at) for at in (self.clients.begin, time.time() * 1000)}
        most = {"rpm": 3, "tpm": 1173}[name] * THREADS * (len(self.clients.journals) + 1)
        return 0 if len(starts) == 1 else most

    def assert_within_limits(self):
        for bucket, entries in self.clients.entries().items():
            for name, quota in LIMITS.items():
                if bucket[0] == "solo":
                    continue  # corrections leave debt
                terms = journal.Terms(self.clients.begin, self.clients.begin, quota["capacity"],
                                      quota["refill_amount"])
                self.assertIsNone(journal.surplus(entries, name, terms), (bucket, name))

    def start_clients(self):
        for child in CHILDREN:
            self.clients.start(child, "llm", rpm=3, tpm=400)


class TableOfThePeer(UsageOfClients):
    def test_each_change_counts_once_although_aggregators_are_killed_and_drained(self):
        first = self.aggregate()
        self.start_clients()
        self.wait_until_counted("by the first aggregator")
        second = self.aggregate()
        self.clients.start(CHILDREN[0], "img", rpm=2, tpm=150)
        self.clients.correct_leases()
        self.wait_until_counted("while a second one runs too")
        first.kill()
        third = self.aggregate()
        self.wait_until_counted("after SIGKILL")
        self.clients.correct_leases()
        counts = [second.drain()]
        self.wait_until_counted("after SIGTERM")
        self.clients.stop()
        self.assert_counted("by three aggregators")
        counts.append(third.drain())
        fourth = self.aggregate()
        self.clients.correct_leases()
        self.assert_counted("by one that goes on where another was drained")
        counts.append(fourth.drain())
        self.assert_within_limits()
        self.check(counts)

    def check(self, counts):
        print(f"\n  {time.time() - self.clients.begin / 1000:.0f} s: {counts}", file=sys.stderr)
        for name in ("skipped", "gaps", "refused"):
            self.assertEqual([count[name] for count in counts], [0, 0, 0], name)
        self.assertGreater(sum(count["conflicts"] for count in counts), 0,
                           "no change was delivered again after SIGKILL")


class TableOfWeir(UsageOfClients):
    @classmethod
    def make_table(cls):
        cls.weir("table", "create")
        cls.weir("namespace", "register", "default")

    def test_clients_are_counted_from_the_oldest_record_on(self):
        self.start_clients()
        self.clients.correct_leases()
        aggregators = [self.aggregate(), self.aggregate()]
        self.wait_until_counted("by two aggregators")
        self.clients.stop()
        self.assert_counted("by two aggregators")
        for aggregator in aggregators:
            aggregator.drain()
        self.assert_counted("after both were drained")
        self.assert_within_limits()


class Trace(UsageOfClients):
    def test_usage_of_a_recorded_hour_equals_the_decisions(self):
        self.peer.set_limits("resource:trace", limit("rpm", 700, 60, 60),
                             limit("tpm", 800_000, 9000, 60))
        aggregator = self.aggregate()
        weir = self.new_weir_process()
        refused = 0
        with TRACE.open(newline="") as file:
            for number, row in enumerate(itertools.islice(csv.DictReader(file), TRACE_ROWS)):
                refused += not self.carry_out(weir, f"tenant-{number * number % TENANTS}", row)
        self.assertTrue(0 < refused < TRACE_ROWS / 2, refused)
        self.assert_counted(f"{TRACE_ROWS} rows, of which {refused} are refused")
        aggregator.drain()

    def carry_out(self, weir, tenant, row):
        """Takes an estimate, and corrects it as the request of the trace did."""
        begin = int(time.time() * 1000)
        estimate = int(row["ContextTokens"]) + ESTIMATE
        taken = weir.take(tenant, "trace", rpm=1, tpm=estimate)
        if taken:
            used = int(row["ContextTokens"]) + int(row["GeneratedTokens"])
            weir.end(taken, tpm=used - estimate)
            self.clients.note((tenant, "trace"), begin, rpm=1, tpm=used)
        return taken


class Refills(UsageOfClients):
    def test_a_bucket_that_clients_have_emptied_is_refilled(self):
        aggregator = self.aggregate()
        self.resource = "llm"
        bucket = self.stored("busy")
        begin = time.time() * 1000
        self.peer.take("busy", "llm", rpm=1, tpm=1)
        self.peer.take("busy", "llm", rpm=50, tpm=10)
        left = bucket.tokens("rpm")
        engine.wait_until(lambda: bucket.tokens("rpm") > left, "the stored balance is refilled",
                          WAIT_SECONDS)
        seconds = time.time() - begin / 1000
        self.assertLessEqual(bucket.tokens("rpm"), min(60, 60 - 51 + 20 * seconds), bucket)
        self.assertEqual(bucket.consumed("rpm"), 51, bucket)
        self.assertEqual(aggregator.drain()["refills"], 1)


if __name__ == "__main__":
    on_table.main(__doc__)
