"""The event source mapping of AWS Lambda for one shard of a table's stream, as a model.

Source: AWS Lambda Developer Guide, "Using AWS Lambda with Amazon DynamoDB": with
ReportBatchItemFailures and BisectBatchOnFunctionError, a batch is divided at the lowest reported
sequence number, and only the records from there on are delivered again; a batch of which no record
is applied is halved. Dividing a batch does not count as a retry.
"""

import dataclasses
import json
import time

RETRIES = 3
OLDEST_SECONDS = 3600


@dataclasses.dataclass
class DeadLetter:
    """What the on-failure destination gets: no records, only their positions."""

    condition: str
    first: str  # sequence numbers
    last: str
    size: int
    invocations: int


@dataclasses.dataclass
class Counts:
    invocations: int = 0
    errors: int = 0
    partial: int = 0
    redelivered: int = 0


class Mapping:
    """`invoke(event)` returns the response as text, or raises InvocationFailed. `loses()` says
    whether the mapping does not get to know a response, and delivers the batch again."""

    def __init__(self, invoke, loses=lambda: False, now=time.time):
        self.invoke, self.loses, self.now = invoke, loses, now
        self.dead_letters = []
        self.counts = Counts()

    def deliver(self, batch, invocations=0):
        """Returns when each record is applied, or is part of a dead letter."""
        while batch:
            rest = self.rest_of(batch)
            invocations += 1
            if len(rest) < len(batch):  # progress
                batch, invocations = rest, 0
            elif len(batch) > 1:
                middle = len(batch) // 2
                self.deliver(batch[:middle])
                batch, invocations = batch[middle:], 0
            elif condition := self.condition(batch[0], invocations):
                self.dead_letters.append(DeadLetter(condition, number_of(batch[0]),
                                                    number_of(batch[-1]), len(batch), invocations))
                return

    def condition(self, record, invocations):
        """Why the record is not delivered again; None: it is."""
        if invocations > RETRIES:
            return "RetryAttemptsExhausted"
        created = record["dynamodb"].get("ApproximateCreationDateTime")
        is_known = isinstance(created, (int, float))  # a malformed record may have no time
        is_old = is_known and self.now() - created > OLDEST_SECONDS
        return "RecordAgeExceeded" if is_old else None

    def rest_of(self, batch):
        """Delivers the batch. Returns the records that are to be delivered again."""
        self.counts.invocations += 1
        try:
            response = json.loads(self.invoke({"Records": batch}))
        except InvocationFailed:
            self.counts.errors += 1
            return batch
        if self.loses():
            self.counts.redelivered += 1
            return self.rest_of(batch)
        failures = [failure["itemIdentifier"] for failure in response["batchItemFailures"]]
        if not failures:
            return []
        self.counts.partial += 1
        numbers = [number_of(record) for record in batch]
        if any(failure not in numbers for failure in failures):
            return batch  # Lambda takes the whole batch as failed
        return batch[min(numbers.index(failure) for failure in failures):]


class InvocationFailed(Exception):
    """An error of the function, or its process ended."""


def number_of(record):
    return record["dynamodb"]["SequenceNumber"]
