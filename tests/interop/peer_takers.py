"""Threads that take tokens of one bucket of zae-limiter, as LoadThreads (weir_takers.h) of Weir."""

import collections
import random
import threading
import time

from zae_limiter import OnUnavailable, RateLimitExceeded

LONGEST_PAUSE = 0.05


def now_ms():
    return int(time.time() * 1000)


class LoadThreads:
    """Runs from construction to stop()."""

    def __init__(self, limiter, entity, resource, amounts, journal, threads, seed, gives_back):
        self.limiter, self.entity, self.resource = limiter, entity, resource
        self.amounts, self.gives_back = amounts, gives_back
        self.journal = open(journal, "ab", buffering=0)  # one write(2) for each line
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.first_error = ""
        self.stopped = False
        # Daemons, so that the process of a test that has failed ends with its input.
        self.threads = [threading.Thread(target=self.work, args=[seed * 1000 + number], daemon=True)
                        for number in range(threads)]
        for thread in self.threads:
            thread.start()

    def stop(self):
        """Blocks until the threads have ended; what they counted."""
        self.stopped = True
        for thread in self.threads:
            thread.join()
        self.journal.close()
        names = ("admitted", "refused", "contended", "maybe_twice", "maybe_twice_early", "errors")
        return {name: self.counts[name] for name in names} | {"first_error": self.first_error}

    def work(self, seed):
        chance = random.Random(seed)
        while not self.stopped:
            time.sleep(self.ask_once(chance))

    def ask_once(self, chance):
        """One request; how long to wait before the next, in seconds."""
        given, begin = {}, now_ms()
        try:
            with self.limiter.acquire(self.entity, self.resource, self.amounts,
                                      on_unavailable=OnUnavailable.BLOCK) as lease:
                self.write(begin, "take", self.amounts)
                self.count("admitted")
                if self.gives_back:
                    given = {name: chance.randint(0, most) for name, most in self.amounts.items()}
                    lease.release(**given)
                begin = now_ms()
            self.write(begin, "give", given)
        except RateLimitExceeded as refusal:
            self.count("contended" if refusal.contended else "refused")
            return min(refusal.retry_after_seconds, LONGEST_PAUSE)
        except Exception as error:  # reported, whatever its type
            self.count("errors")
            self.first_error = self.first_error or f"{type(error).__name__}: {error}"
            return LONGEST_PAUSE
        return 0

    def write(self, begin, kind, amounts):
        words = [f"{name}={amount}" for name, amount in amounts.items() if amount > 0]
        if words:
            self.journal.write(f"{begin} {now_ms()} {kind} {' '.join(words)}\n".encode())

    def count(self, what):
        with self.lock:
            self.counts[what] += 1
