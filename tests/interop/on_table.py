"""Shared by the tests with both sides: one engine and one table for each class, processes that end
with their test, and callers whose journals are compared with the table."""

import pathlib
import sys
import tempfile
import time
import unittest

import journal
from sides import Peer, StoredBucket, Weir, WeirProcess, engine, words_of

CREEP = 0.1  # tokens that a limit of 100 a day gains during a test
FORGET_SECONDS = 1.1  # both sides may repeat a refusal for a second without looking
MOST_REQUESTS = 1000
MOST_ROUNDS = 5
SIDES = ("zae-limiter", "weir")


class OnTable(unittest.TestCase):
    """One class, one engine: dynoxide becomes slower with what its streams hold."""

    weir_program = weir_process_program = None

    @classmethod
    def setUpClass(cls):
        cls.running = engine.Dynoxide()
        cls.running.__enter__()
        cls.addClassCleanup(cls.running.__exit__)
        cls.table = "interop"
        cls.peer = Peer(cls.running, cls.table)
        cls.addClassCleanup(cls.peer.close)
        cls.weir = Weir(cls.running, cls.weir_program, cls.table)
        cls.make_table()

    @classmethod
    def make_table(cls):
        cls.peer("create")

    @classmethod
    def start_both(cls):
        """One process of each side for all tests of the class, as the tests have buckets of their
        own."""
        cls.process = WeirProcess(cls.running, cls.weir_process_program, cls.table)
        cls.addClassCleanup(cls.process.close)
        cls.other = Peer(cls.running, cls.table)
        cls.addClassCleanup(cls.other.close)

    def setUp(self):
        self.use_bucket(self.id().rpartition(".")[2])

    def use_bucket(self, name):
        """Of an entity and a resource of its own, so that no other limits hold for it."""
        name = name.removeprefix("test_").replace("_", "-")
        self.entity, self.resource = f"e-{name}", f"r-{name}"
        self.level = f"entity:{self.entity}:{self.resource}"
        self.bucket = self.stored(self.entity)

    def stored(self, entity):
        return StoredBucket(self.running, self.table, entity, self.resource)

    def try_take(self, side, **amounts):
        return side.take(self.entity, self.resource, **amounts)

    def take(self, side, **amounts):
        answer = self.try_take(side, **amounts)
        self.assertTrue(answer, f"{side} was refused {amounts}: {dict(answer)}; {self.bucket}")
        return answer

    def take_all(self, name, *sides, amount=1, most=None):
        """How many tokens the sides get, one after the other until it is refused or has `most`."""
        total = 0
        for side in sides:
            requests = MOST_REQUESTS if most is None else most // amount
            while requests > 0 and self.try_take(side, **{name: amount}):
                requests -= 1
                total += amount
        return total

    def new_peer(self):
        return self.closed_at_the_end(Peer(self.running, self.table))

    def new_weir_process(self):
        return self.closed_at_the_end(
            WeirProcess(self.running, self.weir_process_program, self.table))

    def closed_at_the_end(self, process):
        self.addCleanup(process.close)
        return process

    def assert_quota(self, name, wanted, when):
        """Every shard holds the quota of the limit `wanted`; None: no shard has the limit."""
        quota = wanted and (wanted["capacity"], wanted["refill_amount"],
                            wanted["refill_period_seconds"])
        self.assertEqual(self.bucket.quotas(name), {quota or (None, None, None)},
                         f"{when}: capacity, refill amount and period of {name} in the shards; "
                         f"{self.bucket}")

    def assert_taken(self, got, wanted, what):
        self.assertEqual(got, wanted, f"{what}: it got {got} tokens and should get {wanted}; "
                         f"{self.bucket}")

    def assert_balances_agree(self, name):
        """Both sides report the same balance, in whole tokens. No process may be taking."""
        peer = self.peer("available", self.entity, self.resource)[name]
        weir = self.weir.available(self.entity, self.resource)[name]
        # zae-limiter counts whole tokens of each shard, and at another instant.
        slack = len(self.bucket.shards()) + 1 + max(
            amount / period for _, amount, period in self.bucket.quotas(name))
        self.assertAlmostEqual(peer, weir, delta=slack, msg=f"tokens left of {name}: zae-limiter "
                               f"says {peer}, weir says {weir}; {self.bucket}")


class Callers:
    """Processes that ask for tokens of the test's bucket, and the answers that they got."""

    def __init__(self, test, threads=2, gives_back=False, **amounts):
        self.test, self.threads, self.amounts = test, threads, amounts
        self.manner = "give" if gives_back else "keep"
        self.folder = pathlib.Path(test.enterContext(tempfile.TemporaryDirectory()))
        self.running, self.journals, self.reports = {}, [], []
        self.killed = 0
        self.terms = []
        self.grants = []

    def start(self, *processes):
        for process in processes:
            number = len(self.journals) + 1
            file = self.folder / f"{number}-{process}"
            file.touch()
            self.journals.append(file)
            process("load", self.test.entity, self.test.resource, file, self.threads, number,
                    self.manner, *words_of(self.amounts))
            self.running[process] = file

    def stop(self, *processes):
        for process in processes or [*self.running]:
            self.reports.append({"of": str(process)} | process("stop"))
            del self.running[process]

    def kill(self, process):
        process.kill()
        del self.running[process]
        self.killed += 1

    def begin(self, side, quota, level=None):
        """Sets the limit and takes all of it at once. zae-limiter's fast path does not cut off the
        refill of a bucket that is nearly full, so that it admits more than the bound; an empty
        bucket does not come there under load."""
        name, capacity = quota["name"], quota["capacity"]
        rate = quota["refill_amount"] / quota["refill_period_seconds"]
        self.change(lambda: side.set_limits(level or self.test.level, quota), capacity, rate)
        begin = int(time.time() * 1000)
        self.test.take(self.test.peer, **{name: capacity})
        self.journals.append(self.folder / "first")
        self.journals[0].write_text(f"{begin} {int(time.time() * 1000)} take {name}={capacity}\n")

    def change(self, call, capacity, rate):
        """Runs `call`, which sets this quota."""
        begin = time.time() * 1000
        call()
        self.terms.append(journal.Terms(begin, time.time() * 1000, capacity, rate))

    def grant(self, tokens):
        """Before a documented event that may mint this many."""
        self.grants.append((time.time() * 1000, tokens))

    def entries(self):
        return [entry for file in self.journals for entry in journal.read(file)]

    def run_for(self, seconds, *processes, sides=SIDES):
        """Again, up to MOST_ROUNDS times, if a side got nothing, which happens by chance where both
        ask for each token, or if nothing was refused."""
        for _ in range(MOST_ROUNDS):
            self.start(*processes)
            time.sleep(seconds)
            self.stop()
            if self.refused() > 0 and all(self.admitted(side) > 0 for side in sides):
                break
        self.check("rpm", sides)

    def admitted(self, side):
        return sum(entry.kind == "take" for file in self.journals if file.name.endswith(side)
                   for entry in journal.read(file))

    def refused(self):
        return sum(report["refused"] for report in self.reports)

    def check(self, name, sides=SIDES):
        """`name` is the limit. Fails if a side answers "admitted" without taking from the bucket,
        takes twice without saying so, says so although no response was late, or if more is admitted
        than the quotas allow."""
        test, entries = self.test, self.entries()
        for report in self.reports:
            test.assertEqual((report["errors"], report["maybe_twice_early"]), (0, 0), report)
        for side in sides:
            test.assertGreater(self.admitted(side), 0,
                               f"{side} got nothing: {self.reports}; {test.bucket}")
        test.assertGreater(self.refused(), 0, f"nothing was refused: {self.reports}")
        self.check_consumption(name, entries)
        lacking = journal.excess(entries, name, self.terms, self.grants)
        test.assertIsNone(lacking, f"{lacking}: more {name} was admitted than {self.terms} and "
                          f"{self.grants} allow; {test.bucket}")
        self.print_summary(name, entries)

    def check_consumption(self, name, entries):
        answered = journal.net_consumption(entries, name)
        in_flight = self.killed * self.threads * self.amounts[name]
        twice = sum(report["maybe_twice"] for report in self.reports) * self.amounts[name]
        stored = self.test.bucket.consumed(name)
        what = (f"takes less returns of {name}: the callers were answered {answered}, the table has "
                f"{stored}; {in_flight} may have been in flight, {twice} may be charged twice; "
                f"{self.test.bucket}")
        self.test.assertGreaterEqual(stored, answered - in_flight, what)
        self.test.assertLessEqual(stored, answered + in_flight + twice, what)

    def print_summary(self, name, entries):
        begin, end = entries[0].begin, max(entry.end for entry in entries)
        counts = [f"{report['of']} {report['admitted']}+{report['refused']}+{report['contended']}"
                  for report in self.reports]
        print(f"\n  {(end - begin) / 1000:.1f} s, {journal.net_consumption(entries, name)} {name}, "
              f"shards {len(self.test.bucket.shards())}; admitted+refused+contended: "
              f"{', '.join(counts)}", file=sys.stderr)


def main(usage):
    if len(sys.argv) < 3:
        sys.exit(usage)
    OnTable.weir_program = pathlib.Path(sys.argv.pop(1)).resolve()
    OnTable.weir_process_program = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(module="__main__", verbosity=2)
