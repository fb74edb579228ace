#!/usr/bin/env python3
"""The model of the event source mapping, with functions that are good, bad and broken.

usage: mapping_test.py [UNITTEST_ARGUMENT...]
"""

import json
import sys
import unittest

sys.dont_write_bytecode = True  # the sources stay as they are
from mapping import InvocationFailed, Mapping, number_of  # noqa: E402


def records(count, malformed=()):
    return [{"dynamodb": {"SequenceNumber": f"{number:021}", "bad": number in malformed}}
            for number in range(count)]


class Function:
    """Applies records up to the first that is malformed."""

    def __init__(self, fails_at=()):
        self.applied, self.invocations, self.fails_at = [], 0, fails_at

    def __call__(self, event):
        self.invocations += 1
        for record in event["Records"]:
            if self.invocations in self.fails_at:
                raise InvocationFailed
            if record["dynamodb"]["bad"]:
                return self.response(event["Records"], number_of(record))
            self.applied.append(number_of(record))
        return '{"batchItemFailures":[]}'

    def response(self, _, number):
        return json.dumps({"batchItemFailures": [{"itemIdentifier": number}]})


class LastPosition(Function):
    """The planted bug: it reports a later record than the first that failed."""

    def response(self, batch, _):
        return super().response(batch, number_of(batch[-1]))


class MappingTest(unittest.TestCase):
    def run_with(self, function, batch):
        mapping = Mapping(function)
        mapping.deliver(batch)
        return mapping

    def test_malformed_records_become_dead_letters_and_no_others(self):
        function = Function()
        mapping = self.run_with(function, records(100, {0, 17, 18, 99}))
        self.assertEqual([int(letter.first) for letter in mapping.dead_letters], [0, 17, 18, 99])
        self.assertEqual({(letter.condition, letter.size, letter.invocations)
                          for letter in mapping.dead_letters}, {("RetryAttemptsExhausted", 1, 4)})
        self.assertEqual(len(function.applied), 96)

    def test_a_failed_invocation_delivers_the_batch_again_in_its_order(self):
        function = Function(fails_at={1, 3})
        mapping = self.run_with(function, records(8))
        self.assertEqual(function.applied, [number_of(record) for record in records(8)])
        self.assertEqual((mapping.counts.errors, mapping.dead_letters), (2, []))

    def test_a_function_that_reports_a_later_record_loses_some(self):
        function = LastPosition()
        self.run_with(function, records(10, {3}))
        self.assertLess(len(function.applied), 9)

    def test_an_unknown_position_fails_the_whole_batch(self):
        function = Function()
        function.response = lambda *_: '{"batchItemFailures":[{"itemIdentifier":"7"}]}'
        mapping = self.run_with(function, records(4, {3}))
        self.assertEqual([int(letter.first) for letter in mapping.dead_letters], [3])

    def test_an_old_record_is_not_delivered_again(self):
        batch = records(1, {0})
        batch[0]["dynamodb"]["ApproximateCreationDateTime"] = 0
        mapping = self.run_with(Function(), batch)
        self.assertEqual([letter.condition for letter in mapping.dead_letters],
                         ["RecordAgeExceeded"])

    def test_a_lost_response_delivers_the_batch_again(self):
        losses = iter([True, False])
        function = Function()
        mapping = Mapping(function, loses=lambda: next(losses))
        mapping.deliver(records(2))
        self.assertEqual((len(function.applied), mapping.counts.redelivered), (4, 1))


if __name__ == "__main__":
    unittest.main()
