"""A fault_proxy.py before an engine for Kinesis that knows PutRecords: it throttles single entries,
which an engine without limits never does, and keeps what each request was told.

    with PutProxy(running) as proxy:
        proxy.throttled_share = 0.3
        use(proxy.url)
        proxy.answers
"""

import collections
import json
import random
import re
import time

from streams import engine  # first: it says where the next one is
import fault_proxy

Answer = collections.namedtuple("Answer", "time sent throttled")  # of entries
PATIENCE_SECONDS = 60
THROTTLED = {"ErrorCode": "ProvisionedThroughputExceededException",
             "ErrorMessage": "Made by a test"}


def with_body(message, value):
    """The same message, with another body."""
    body = json.dumps(value).encode()
    length = b"\r\nContent-Length: %d\r\n" % len(body)
    head = re.sub(rb"(?i)\r\ncontent-length: *\d+\r\n", length, message.head)
    return fault_proxy.Message(head, body)


def is_throttled(entry):
    return entry.get("ErrorCode") == THROTTLED["ErrorCode"]


def whole(told, passed, count):
    """The answer for all entries, where the engine saw some."""
    entries = [dict(THROTTLED) for _ in range(count)]
    for place, entry in zip(passed, told["Records"], strict=True):
        entries[place] = entry
    return told | {"Records": entries,
                   "FailedRecordCount": sum(bool(entry.get("ErrorCode")) for entry in entries)}


def note(proxy, entries):
    with proxy.changed:
        throttled = sum(map(is_throttled, entries))
        proxy.answers.append(Answer(time.monotonic(), len(entries), throttled))
        proxy.changed.notify_all()


class Handler(fault_proxy.Handler):
    def ask(self, request):
        if request.target() != "PutRecords":
            return super().ask(request)
        proxy, asked = self.server.proxy, json.loads(request.body)
        passed = proxy.entries_to_pass(len(asked["Records"]))
        reply = super().ask(with_body(request, asked | {
            "Records": [asked["Records"][place] for place in passed]}))
        if reply is None:
            return None
        told = json.loads(reply.body)
        if "Records" in told:
            reply = with_body(reply, whole(told, passed, len(asked["Records"])))
            note(proxy, json.loads(reply.body)["Records"])
        return reply


class PutProxy(fault_proxy.FaultProxy):
    """Has the modes of FaultProxy; what the mode does, it does to what is not throttled."""

    handler = Handler

    def __init__(self, running, seed=1):
        super().__init__(running)
        self.throttled_share = 0
        self.rng = random.Random(seed)
        self.answers = []

    def entries_to_pass(self, count):
        """Their places. At least one, as an empty request is refused whole."""
        drawn = [place for place in range(count) if self.rng.random() >= self.throttled_share]
        return drawn or [self.rng.randrange(count)]

    def wait_for_answer(self):
        """Until there is one at all."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.answers, PATIENCE_SECONDS):
                raise engine.Failed(f"waited {PATIENCE_SECONDS} s for an answer")

    def wait_for_answers(self, more):
        """Until so many more have been given."""
        self.wait_for("answers", more, lambda: len(self.answers))

    def wait_for_requests(self, more):
        """Until so many more have come in."""
        self.wait_for("requests", more, lambda: self.counts["PutRecords"])

    def wait_for(self, what, more, count):
        with self.changed:
            wanted = count() + more
            if not self.changed.wait_for(lambda: count() >= wanted, PATIENCE_SECONDS):
                raise engine.Failed(f"waited {PATIENCE_SECONDS} s for {more} more {what}")
