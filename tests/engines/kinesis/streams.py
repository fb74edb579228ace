"""A stream of an engine, read the way consumers read it, by programs that are not weir's: boto3
fetches, aws_kinesis_agg unpacks, and an aggregate is delivered by the rule of the Kinesis Client
Library: only if all its hash keys lie in the range of the shard it was read from.

For the interpreter engine.PYTHON.
"""

import base64
import collections
import contextlib
import hashlib
import io
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import engine  # noqa: E402

sys.path.append(str(engine.DEAGGREGATOR))
import boto3  # noqa: E402
from aws_kinesis_agg import MAGIC, deaggregator  # noqa: E402

Record = collections.namedtuple("Record", "key data arrived")


class Contents:
    """What consumers get of a stream."""

    def __init__(self):
        self.delivered = []  # in order: a shard's records after those of its parents
        self.dropped = []  # in aggregates with a hash key outside of the shard
        self.damaged = 0  # Kinesis records that are no aggregate, and begin like one
        self.kinesis_records = self.aggregates = 0

    def data(self):
        return [record.data for record in self.delivered]


class Stream:
    """Made on `running` with so many shards."""

    def __init__(self, running, name, shards=1):
        self.running, self.name = running, name
        running.create_stream(name, shards)
        self.client = boto3.client("kinesis", endpoint_url=running.url, region_name="us-east-1",
                                   aws_access_key_id="test", aws_secret_access_key="test")

    def shards(self):
        """All there were, parents before their children."""
        told = self.client.list_shards(StreamName=self.name, MaxResults=1000)["Shards"]
        known = {shard["ShardId"]: shard for shard in told}

        def age(shard):
            return 1 + max((age(known[parent]) for parent in parents(shard)), default=0)

        return sorted(told, key=lambda shard: (age(shard), shard["ShardId"]))

    def open_shards(self):
        """By their hash keys."""
        return sorted((shard for shard in self.shards()
                       if not shard["SequenceNumberRange"].get("EndingSequenceNumber")),
                      key=lambda shard: hash_range(shard)[0])

    def split(self, shard):
        """In two equal parts. Returns when it is done."""
        first, last = hash_range(shard)
        self.client.split_shard(StreamName=self.name, ShardToSplit=shard["ShardId"],
                                NewStartingHashKey=str((first + last) // 2 + 1))
        self.running.wait_for_stream(self.name)

    def merge(self, shard, neighbour):
        self.client.merge_shards(StreamName=self.name, ShardToMerge=shard["ShardId"],
                                 AdjacentShardToMerge=neighbour["ShardId"])
        self.running.wait_for_stream(self.name)

    def raw(self, shard):
        """The Kinesis records of one shard, as boto3 gives them."""
        iterator = self.client.get_shard_iterator(
            StreamName=self.name, ShardId=shard["ShardId"],
            ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
        while iterator:
            page = self.client.get_records(ShardIterator=iterator, Limit=1_000)
            yield from page["Records"]
            # A closed shard ends. An open one is read until there is no more.
            iterator = page.get("NextShardIterator") if page["Records"] else None

    def read(self):
        contents = Contents()
        for shard in self.shards():
            for record in self.raw(shard):
                deliver(record, hash_range(shard), contents)
        return contents


def parents(shard):
    return [parent for name in ("ParentShardId", "AdjacentParentShardId")
            if (parent := shard.get(name))]


def hash_range(shard):
    return tuple(int(shard["HashKeyRange"][f"{end}HashKey"]) for end in ("Starting", "Ending"))


def hash_key(record):
    explicit = record.get("explicitHashKey")
    digest = hashlib.md5(record["partitionKey"].encode()).digest()
    return int.from_bytes(digest, "big") if explicit is None else int(explicit)


def unpack(record):
    """The user records of an aggregate; None where it is none. It says on stderr, and nowhere else,
    that it could not unpack all of one."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        found = [one["kinesis"] for one in
                 deaggregator.iter_deaggregate_records([record], data_format="Boto3")]
    if said.getvalue():
        raise ValueError(said.getvalue())
    return found if found and found[0].get("aggregated") else None


def user_records(key, data):
    """Of a Kinesis record that was not read from anywhere."""
    read = {"Data": data, "PartitionKey": key, "SequenceNumber": "",
            "ApproximateArrivalTimestamp": 0}
    return unpack(read) or [{"partitionKey": key}]


def deliver(record, shard_range, contents):
    contents.kinesis_records += 1
    arrived = record["ApproximateArrivalTimestamp"].timestamp()
    found = unpack(record)
    if found is None:
        contents.damaged += record["Data"].startswith(MAGIC)
        contents.delivered.append(Record(record["PartitionKey"], record["Data"], arrived))
        return
    contents.aggregates += 1
    first, last = shard_range
    inside = all(first <= hash_key(one) <= last for one in found)
    (contents.delivered if inside else contents.dropped).extend(
        Record(one["partitionKey"], base64.b64decode(one["data"]), arrived) for one in found)
