"""The journals of callers, and whether one bucket may have answered as they say.

Times are milliseconds since 1970, amounts whole tokens.
"""

import collections
import heapq
import time
import typing

WINDOWS = {"hourly": "%Y-%m-%dT%H:00:00Z", "daily": "%Y-%m-%dT00:00:00Z",
           "monthly": "%Y-%m-01T00:00:00Z"}  # type -> start of the window of a time
ROUNDING = 0.01  # tokens; refills are exact, the floats here are not


class Entry(typing.NamedTuple):
    """One answer: it was asked for at `begin`, and received at `end`."""

    begin: int
    end: int
    kind: str  # take or give
    amounts: dict


class Terms(typing.NamedTuple):
    """A quota, and when the call that set it began and returned."""

    begin: float
    end: float
    capacity: int
    rate: float  # tokens a second


def read(path):
    """The entries of one file; of a killed process, those that it has written."""
    entries = []
    for line in path.read_text().splitlines():
        begin, end, kind, *words = line.split()
        amounts = {name: int(amount) for name, _, amount in (word.partition("=") for word in words)}
        entries.append(Entry(int(begin), int(end), kind, amounts))
    return entries


def net_consumption(entries, limit):
    """Takes less returns, as `tc` counts them."""
    signs = {"take": 1, "give": -1}
    return sum(signs[entry.kind] * entry.amounts.get(limit, 0) for entry in entries)


def start_of(window, at):
    """Of the window of this type that the time `at` is in, as zae-limiter writes it."""
    return time.strftime(WINDOWS[window], time.gmtime(at / 1000))


def usage(entries):
    """(type of window, start of the window, limit) -> takes less returns. Each answer counts at
    the time of its request."""
    signs, used = {"take": 1, "give": -1}, collections.Counter()
    for entry in entries:
        for window in WINDOWS:
            for limit, amount in entry.amounts.items():
                used[window, start_of(window, entry.begin), limit] += signs[entry.kind] * amount
    return used


def surplus(entries, limit, terms):
    """None if the tokens used since the start of `terms` are, at each time, at most capacity +
    rate * time, as in a bucket that never flows over. Otherwise the first time at which they are
    more.
    """
    changes = sorted((entry.end, entry.amounts.get(limit, 0)) if entry.kind == "take" else
                     (entry.begin, -entry.amounts.get(limit, 0)) for entry in entries)
    used = 0
    for at, amount in changes:
        used += amount
        most = terms.capacity + terms.rate * (at + 1 - terms.begin) / 1000
        if amount > 0 and used > most + ROUNDING:
            return f"at {at}, {used} tokens are used, and at most {most:.2f} were there"
    return None


def excess(entries, limit, terms, grants=()):
    """None if a token bucket may have admitted all takes of `limit`; otherwise which take is the
    first that it cannot have, and how much is missing.

    For a bucket without changes this is the bound of every interval [s, t]: the takes that began at
    or after s and were answered by t are at most capacity + rate * (t - s). Each answer is assumed
    to be given at the instant that suits the bucket best, between its request and its arrival.
    `terms`, in the order of their times, say which quota is in force: a larger one from the moment
    at which the call that set it began, a smaller one from its return. Used tokens are kept while a
    capacity grows; one that shrinks leaves what fits in it, as zae-limiter does. `grants` are pairs
    of a time and the tokens that appear then: of documented events that mint.
    """
    return Bucket(terms[0]).run(sorted(events(entries, limit, terms, grants)))


GIVE, GRANT, QUOTA, TAKE, END = range(5)  # the order of events at one instant


def events(entries, limit, terms, grants):
    """(time, what, number, numbers that go with it)"""
    for number, entry in enumerate(entries):
        amount = entry.amounts.get(limit, 0)
        if amount and entry.kind == "give":
            yield entry.begin, GIVE, number, (amount,)
        elif amount:
            yield entry.begin, TAKE, number, (amount, entry.end)
            yield entry.end + 1, END, number, ()  # times are rounded down
    for number, (old, new) in enumerate(zip(terms, terms[1:])):
        at = [new.begin if larger else new.end
              for larger in (new.capacity >= old.capacity, new.rate >= old.rate)]
        yield at[0], QUOTA, number, (new.capacity, None)
        yield at[1], QUOTA, len(terms) + number, (None, new.rate)
    for number, (at, amount) in enumerate(grants):
        yield at, GRANT, number, (amount,)


class Bucket:
    """Takes are paid from what would flow over, and otherwise at the last moment: if they can be
    paid at all, they can be paid so. Overflow goes to the take that has to be answered first."""

    def __init__(self, terms):
        self.capacity, self.rate = terms.capacity, terms.rate
        self.tokens, self.at = terms.capacity, terms.begin
        self.granted = 0
        self.waiting = []  # [end, number, what it still needs]

    def run(self, ordered):
        for at, what, number, values in ordered:
            self.refill(at)
            if what == GIVE:
                self.tokens += values[0]
            elif what == GRANT:
                self.granted += values[0]
            elif what == QUOTA:
                self.change(*values)
            elif what == TAKE:
                heapq.heappush(self.waiting, [values[1], number, values[0]])
            elif not self.pay(number):
                return (f"the take answered at {at - 1} (number {number}) lacks "
                        f"{-self.tokens:.2f} of the capacity {self.capacity} and the rate "
                        f"{self.rate}/s")
            self.use_overflow()
        return None

    def refill(self, at):
        self.tokens += self.rate * max(0, at - self.at) / 1000
        self.at = max(at, self.at)
        self.use_overflow()

    def use_overflow(self):
        while self.waiting and self.tokens > self.capacity:
            first = self.waiting[0]
            paid = min(first[2], self.tokens - self.capacity)
            first[2] -= paid
            self.tokens -= paid
            if first[2] <= 0:
                heapq.heappop(self.waiting)
        self.tokens = min(self.tokens, self.capacity)

    def pay(self, number):
        """Of takes with one end the one with this number is first in the heap, or it is paid."""
        if self.waiting and self.waiting[0][1] == number:
            self.tokens -= heapq.heappop(self.waiting)[2]
        granted = min(self.granted, max(0, -self.tokens))
        self.granted -= granted
        self.tokens += granted
        return self.tokens >= -ROUNDING

    def change(self, capacity, rate):
        self.rate = self.rate if rate is None else rate
        if capacity is not None:
            self.tokens += max(0, capacity - self.capacity)
            self.capacity = capacity
