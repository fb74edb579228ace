"""Records of a table's stream: buckets that are used, some records malformed; and what a correct
aggregator has counted afterwards."""

import collections
import datetime
import json
import random

MILLI = 1000
ENTITIES = 25
RESOURCE = "llm"
LIMITS = ("rpm", "tpm")


class Stream:
    def __init__(self, namespace, seed, begin):
        self.namespace, self.begin = namespace, begin
        self.random = random.Random(seed)
        self.number = 4_421_584_500_000_000_000_000  # 22 digits, as on AWS
        self.counters = collections.defaultdict(dict)  # entity -> limit -> millitokens
        self.wanted = collections.Counter()  # (entity, window, start, limit) -> millitokens
        self.events = collections.Counter()  # (entity, window, start) -> changes of limits
        self.malformed = []  # sequence numbers

    def batch(self, size, has_malformed):
        at = self.random.randrange(size) if has_malformed else None
        return [self.malformed_record() if index == at else self.record() for index in range(size)]

    def next_number(self):
        self.number += self.random.randint(1, 1000)
        return str(self.number)

    def record(self):
        number = self.random.randrange(ENTITIES)
        entity = f"e{number}"
        before = dict(self.counters[entity])
        for limit in LIMITS:
            # Parts of tokens need a remainder, which takes a second request.
            delta = self.random.randint(1, 5) * MILLI + number % 2 * self.random.randrange(MILLI)
            self.counters[entity][limit] = before.get(limit, 0) + delta
            self.count(entity, limit, delta)
        return self.change(entity, before, self.counters[entity])

    def count(self, entity, limit, delta):
        at = datetime.datetime.fromtimestamp(self.begin, datetime.timezone.utc)
        for window, start in (("hourly", at.replace(minute=0, second=0, microsecond=0)),
                              ("daily", at.replace(hour=0, minute=0, second=0, microsecond=0))):
            text = start.strftime("%Y-%m-%dT%H:%M:%S.000Z")
            self.wanted[entity, window, text, limit] += delta
            self.events[entity, window, text] += 1

    def change(self, entity, before, after):
        keys = {"PK": {"S": f"{self.namespace}/BUCKET#{entity}#{RESOURCE}#0"}, "SK": {"S": "#STATE"}}
        fields = {"ApproximateCreationDateTime": self.begin, "Keys": keys,
                  "NewImage": self.image(keys, entity, after), "SequenceNumber": self.next_number(),
                  "SizeBytes": 100, "StreamViewType": "NEW_AND_OLD_IMAGES"}
        if before:
            fields["OldImage"] = self.image(keys, entity, before)
        return {"eventID": fields["SequenceNumber"], "eventName": "MODIFY" if before else "INSERT",
                "eventVersion": "1.1", "eventSource": "aws:dynamodb", "awsRegion": "us-east-1",
                "dynamodb": fields,
                "eventSourceARN": "arn:aws:dynamodb:us-east-1:1:table/limits/stream/s"}

    def image(self, keys, entity, counters):
        item = dict(keys) | {"entity_id": {"S": entity}, "resource": {"S": RESOURCE},
                             "shard_count": {"N": "1"}, "rf": {"N": str(self.begin * MILLI)}}
        for limit, millitokens in counters.items():
            for name, value in (("tk", 10**9), ("cp", 10**9), ("ra", 10**9), ("rp", 60_000),
                                ("tc", millitokens)):
                item[f"b_{limit}_{name}"] = {"N": str(value)}
        return item

    def malformed_record(self):
        """In one of the ways in which a record cannot be counted."""
        record = self.change("malformed", {"rpm": 1000}, {"rpm": 2000})
        fields = record["dynamodb"]
        spoil = self.random.choice([
            lambda: fields.pop("OldImage"),
            lambda: fields.pop("Keys"),
            lambda: fields["NewImage"]["b_rpm_tc"].update(N="1.5"),
            lambda: fields.update(NewImage={"PK": {"X": "of no kind"}}),
            lambda: fields.update(ApproximateCreationDateTime="yesterday")])
        spoil()
        self.malformed.append(fields["SequenceNumber"])
        return json.loads(json.dumps(record))

    def tokens(self):
        """(entity, window, start, limit) -> whole tokens."""
        return {key: millitokens // MILLI for key, millitokens in self.wanted.items()}
