#!/usr/bin/env python3
"""What `weir kinesis put --cloudwatch` uploads, as CloudWatch shows it to boto3, while lines come.

usage: cloudwatch_test.py WEIR [UNITTEST_ARGUMENT...]

moto is both Kinesis and CloudWatch.
"""

import datetime
import sys
import time
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
from streams import boto3, engine  # noqa: E402
from put import Put  # noqa: E402

SHARDS = ("shardId-000000000000", "shardId-000000000001")


class Stream:
    """As streams.Stream is for the other engines, as far as Put needs it."""

    def __init__(self, running, name):
        self.running, self.name = running, name


class CloudWatch(unittest.TestCase):
    def setUp(self):
        self.moto = engine.Moto()
        self.moto.__enter__()
        self.addCleanup(self.moto.__exit__)
        self.client("kinesis").create_stream(StreamName="orders", ShardCount=len(SHARDS))

    def client(self, service):
        return boto3.client(service, endpoint_url=self.moto.url, region_name="us-east-1",
                            aws_access_key_id="test", aws_secret_access_key="test")

    def put(self, *options, **properties):
        put = Put(WEIR, Stream(self.moto, "orders"), self.moto.url, *options, "--key", "random",
                  wire_format="json", AggregationEnabled="false", **properties)
        self.enterContext(put)
        return put

    def shown(self, name, namespace="KinesisProducerLibrary", **dimensions):
        """Sum and count of a metric, over all the time there is. moto adds up all metrics that have
        these dimensions, also those that have more."""
        now = datetime.datetime.now(datetime.timezone.utc)
        hour = datetime.timedelta(hours=1)
        points = self.client("cloudwatch").get_metric_statistics(
            Namespace=namespace, MetricName=name, StartTime=now - hour, EndTime=now + hour,
            Period=60, Statistics=["Sum", "SampleCount", "Minimum", "Maximum"],
            Dimensions=[{"Name": key, "Value": value} for key, value in dimensions.items()],
        )["Datapoints"]
        self.units = {point["Unit"] for point in points}
        return (sum(point["Sum"] for point in points),
                sum(point["SampleCount"] for point in points))

    def metrics(self):
        """Name and dimensions of each that is not of moto's own Kinesis."""
        return {(metric["MetricName"],
                 tuple(sorted((one["Name"], one["Value"]) for one in metric["Dimensions"])))
                for metric in self.client("cloudwatch").list_metrics()["Metrics"]
                if metric["Namespace"] != "AWS/Kinesis"}

    def wait_for_records(self, count):
        """Until the sums over all streams and over one stream show this many."""
        engine.wait_until(lambda: self.shown("UserRecordsPut", Team="data") == (count, count),
                          f"{count} records are counted")

    def test_shows_what_was_put_under_the_librarys_names_while_lines_come(self):
        put = self.put("--cloudwatch", MetricsUploadDelay=300,
                       AdditionalMetricDims="Team=data:global")
        put.feed(f"first {n}" for n in range(100))
        self.wait_for_records(300)
        put.feed(f"then {n}" for n in range(50))
        self.wait_for_records(450)
        put.feed(f"last {n}" for n in range(7))
        report = put.finish()
        self.assertEqual((report["records"], report["failed"], put.said), (157, 0, ""))
        for name, unit, total in (("UserRecordsPut", "Count", 157),
                                  ("KinesisRecordsPut", "Count", 157),
                                  ("UserRecordsDataPut", "Bytes",
                                   sum(len(line) for line in put.fed))):
            stream = {"Team": "data", "StreamName": "orders"}
            self.assertEqual(self.shown(name, Team="data")[0], 3 * total, name)
            self.assertEqual(self.shown(name, **stream)[0], 2 * total, name)
            self.assertEqual(self.units, {unit}, name)
            shards = [self.shown(name, **stream, ShardId=shard)[0] for shard in SHARDS]
            self.assertEqual(sum(shards), total, name)
            self.assertTrue(all(shards), name)
        names = {name for name, _ in self.metrics()}
        self.assertEqual(names, {
            "UserRecordsReceived", "UserRecordsPending", "UserRecordsPut", "UserRecordsDataPut",
            "KinesisRecordsPut", "KinesisRecordsDataPut", "AllErrors", "RetriesPerRecord",
            "BufferingTime", "RequestTime", "UserRecordsPerKinesisRecord",
            "KinesisRecordsPerPutRecordsRequest", "UserRecordsPerPutRecordsRequest"})

    def test_keeps_to_level_granularity_and_namespace(self):
        put = self.put("--cloudwatch", MetricsLevel="summary", MetricsGranularity="stream",
                       MetricsNamespace="Shop/Orders")
        put.feed(f"line {n}" for n in range(20))
        put.finish()
        self.assertEqual(self.shown("UserRecordsPut", "Shop/Orders", StreamName="orders"),
                         (20, 20), put.said)
        metrics = self.metrics()
        self.assertEqual({name for name, _ in metrics},
                         {"UserRecordsPut", "KinesisRecordsPut", "AllErrors", "BufferingTime"})
        self.assertEqual({dimensions for _, dimensions in metrics},
                         {(), (("StreamName", "orders"),)})

    def test_uploads_nothing_unasked(self):
        put = self.put(MetricsUploadDelay=100)
        put.feed(f"line {n}" for n in range(20))
        put.finish()
        self.assertEqual(self.metrics(), set())

    def test_a_cloudwatch_that_is_away_fails_no_line_and_is_told(self):
        nowhere, = engine.free_ports(1)
        environment = self.moto.environment()
        self.moto.environment = lambda: environment | {
            "AWS_ENDPOINT_URL_CLOUDWATCH": f"http://127.0.0.1:{nowhere}"}
        put = self.put("--cloudwatch", MetricsUploadDelay=100)
        put.feed(f"line {n}" for n in range(20))
        began = time.monotonic()
        report = put.finish()
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual((report["records"], report["failed"]), (20, 0))
        self.assertEqual(put.process.returncode, 0)
        self.assertIn("were not uploaded to CloudWatch", put.said)


if __name__ == "__main__":
    WEIR = sys.argv.pop(1)
    unittest.main()
