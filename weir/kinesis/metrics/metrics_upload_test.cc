#include "weir/kinesis/metrics/metrics_upload.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "weir/kinesis/testing/cloudwatch_fixture.h"
#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using nlohmann::json;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::SizeIs;

constexpr UnixMillis kWall{1'767'225'600'013};  // in the first second of a minute

/// The samples that CloudWatch would show: a simple model that adds up the data it gets.
using Shown = ShownMetrics;

void Apply(const std::string& body, Shown& shown) { ShowMetrics(body, shown); }

std::size_t DataIn(const std::string& body) { return json::parse(body)["MetricData"].size(); }

MetricReading Reading(Metric metric, const std::string& stream, Statistic samples) {
  return {.metric = metric, .code = {}, .stream = stream, .shard = {}, .statistic = samples};
}

std::vector<MetricReading> Streams(int first, int end) {
  std::vector<MetricReading> readings;
  for (int i = first; i < end; ++i) {
    readings.push_back(Reading(Metric::kUserRecordsPut, fmt::format("s{:03}", i), {1, 1, 1, 1}));
  }
  return readings;
}

AwsFailure FailureOfKind(FailureClass kind, bool maybe_applied = false) {
  AwsFailure failure;
  failure.kind = kind;
  failure.maybe_applied = maybe_applied;
  return failure;
}
const std::optional<AwsFailure> kAccepted;

MetricsUpload UploadWith(MetricsUploadOptions options) { return {std::move(options), kStart, 1}; }

TEST(MetricsUpload, UploadsTheSamplesOfEachDelayUnderTheLibrarysNames) {
  MetricsUpload upload({.metrics_namespace = "Mine", .dimensions = {{"Host", "h"}}}, kStart, 1);
  EXPECT_FALSE(upload.IsDue(kStart + seconds(59)));
  ASSERT_TRUE(upload.IsDue(kStart + seconds(60)));
  const std::vector<MetricReading> samples = {
      {Metric::kErrorsByCode, "Throttled", "orders", "shardId-1", {2, 2, 1, 1}},
      Reading(Metric::kTimeToResult, "", {1, 1, 1, 1}),
      Reading(Metric::kUserRecordsDataReceived, "", {1, 1, 1, 1})};
  const auto step = upload.OnSamples(samples, kWall, kStart + seconds(60));
  EXPECT_EQ(step.wake, kStart + seconds(120));
  ASSERT_TRUE(step.body);
  EXPECT_EQ(json::parse(*step.body)["Namespace"], "Mine");
  Shown shown;
  Apply(*step.body, shown);
  ASSERT_THAT(shown, SizeIs(1)) << "what the library does not have is not uploaded";
  EXPECT_EQ(shown.begin()->first.second,
            "ErrorsByCode,Host=h,ErrorCode=Throttled,StreamName=orders,ShardId=shardId-1");
  EXPECT_EQ(shown.begin()->second, (Statistic{2, 2, 1, 1}));
  EXPECT_FALSE(upload.IsDue(kStart + seconds(60)));
  EXPECT_FALSE(upload.OnResponse(kAccepted, kStart + seconds(61)).body);
  EXPECT_EQ(upload.stats().uploaded, 1U);
  EXPECT_EQ(upload.stats().kept, 0U);
}

TEST(MetricsUpload, SendsNothingWhereNothingHappened) {
  MetricsUpload upload = UploadWith({});
  const auto step = upload.OnSamples({}, kWall, kStart + seconds(60));
  EXPECT_FALSE(step.body);
  EXPECT_EQ(step.wake, kStart + seconds(120));
}

TEST(MetricsUpload, ARequestHasNoMoreDataAndBytesThanCloudWatchTakes) {
  MetricsUpload upload = UploadWith({});
  auto step = upload.OnSamples(Streams(0, 2'500), kWall, kStart);
  for (const std::size_t data : {1'000U, 1'000U, 500U}) {
    ASSERT_TRUE(step.body);
    EXPECT_EQ(DataIn(*step.body), data);
    step = upload.OnResponse(kAccepted, kStart);
  }
  EXPECT_FALSE(step.body);
  MetricsUpload small = UploadWith({.max_bytes = 1'000});
  std::size_t data = 0;
  for (step = small.OnSamples(Streams(0, 20), kWall, kStart); step.body;
       step = small.OnResponse(kAccepted, kStart)) {
    EXPECT_LE(step.body->size(), 1'000U);
    EXPECT_GT(step.body->size(), 700U) << "or it ends with room";
    data += DataIn(*step.body);
    if (data == 20) break;
  }
  MetricsUpload tiny = UploadWith({.max_bytes = 10});
  EXPECT_EQ(DataIn(*tiny.OnSamples(Streams(0, 2), kWall, kStart).body), 1U);
}

TEST(MetricsUpload, WhatFailedIsMergedWithTheSameMetricAndMinute) {
  MetricsUpload upload = UploadWith({.delay = seconds(10)});
  const auto at = [](int second) { return kStart + seconds(second); };
  const auto sample = [](double value) {
    return std::vector{Reading(Metric::kBufferingTime, "", {1, value, value, value})};
  };
  ASSERT_TRUE(upload.OnSamples(sample(5), kWall, at(10)).body);
  EXPECT_FALSE(upload.OnSamples(sample(2), kWall + seconds(10), at(20)).body) << "one at a time";
  auto step = upload.OnResponse(FailureOfKind(FailureClass::kThrottle), at(21));
  EXPECT_FALSE(step.body) << "not at once";
  ASSERT_TRUE(step.wake);
  EXPECT_LE(*step.wake, at(22));
  static_cast<void>(upload.OnSamples(sample(9), kWall + seconds(60), at(21)));
  EXPECT_EQ(upload.stats().kept, 2U);
  step = upload.OnWake(at(22));
  ASSERT_TRUE(step.body);
  Shown shown;
  Apply(*step.body, shown);
  ASSERT_THAT(shown, SizeIs(2));
  EXPECT_EQ(shown.begin()->second, (Statistic{2, 7, 2, 5}));
  EXPECT_EQ(shown.rbegin()->second, (Statistic{1, 9, 9, 9})) << "another minute";
}

TEST(MetricsUpload, WhatCanNeverBeAcceptedIsCountedAndGivenUp) {
  MetricsUpload upload = UploadWith({.max_data = 2});
  auto step = upload.OnSamples(Streams(0, 3), kWall, kStart);
  step = upload.OnResponse(FailureOfKind(FailureClass::kPermanent), kStart);
  ASSERT_TRUE(step.body) << "the others are not to blame";
  step = upload.OnResponse(kAccepted, kStart);
  EXPECT_EQ(upload.stats().refused, 2U);
  EXPECT_EQ(upload.stats().uploaded, 1U);
  EXPECT_EQ(upload.stats().kept, 0U);
}

TEST(MetricsUpload, AnOutageKeepsTheLatestMinutes) {
  MetricsUpload upload = UploadWith({.max_minutes = 3});
  Instant now = kStart;
  for (int minute = 0; minute < 10; ++minute) {
    now = kStart + minutes(minute);
    const auto step = upload.OnSamples(Streams(0, 2), kWall + minutes(minute), now);
    if (step.body)
      static_cast<void>(upload.OnResponse(FailureOfKind(FailureClass::kTransient), now));
    EXPECT_LE(upload.stats().kept, 6U);
  }
  EXPECT_EQ(upload.stats().dropped, 14U);
  const auto step = upload.OnWake(now + minutes(2));
  Shown shown;
  Apply(*step.body, shown);
  ASSERT_THAT(shown, SizeIs(6));
  EXPECT_EQ(shown.begin()->first.first, kWall.value / 60'000 + 7);
}

TEST(MetricsUpload, TheLastSamplesAreUploadedWithoutDelay) {
  MetricsUpload upload = UploadWith({});
  auto step = upload.OnLastSamples(Streams(0, 1), kWall, kStart);
  ASSERT_TRUE(step.body);
  EXPECT_FALSE(step.ended);
  EXPECT_FALSE(upload.IsDue(kStart + minutes(9)));
  step = upload.OnResponse(FailureOfKind(FailureClass::kAmbiguous, true), kStart);
  ASSERT_TRUE(step.wake) << "it is tried again";
  step = upload.OnWake(*step.wake);
  ASSERT_TRUE(step.body);
  step = upload.OnResponse(kAccepted, kStart);
  EXPECT_TRUE(step.ended);
  EXPECT_EQ(upload.stats().maybe_doubled, 1U);
  EXPECT_TRUE(UploadWith({}).OnLastSamples({}, kWall, kStart).ended);
}

TEST(MetricsUpload, AnEndDoesNotWaitForPermissionsOrBeyondItsDeadline) {
  MetricsUpload denied = UploadWith({});
  ASSERT_TRUE(denied.OnLastSamples(Streams(0, 1), kWall, kStart).body);
  EXPECT_TRUE(denied.OnResponse(FailureOfKind(FailureClass::kAuth), kStart).ended);
  EXPECT_EQ(denied.stats().kept, 1U);
  MetricsUpload late = UploadWith({});
  ASSERT_TRUE(late.OnLastSamples(Streams(0, 1), kWall, kStart).body);
  EXPECT_FALSE(late.Abandon(kStart).ended) << "a request is in flight";
  EXPECT_TRUE(late.OnResponse(FailureOfKind(FailureClass::kTransient), kStart).ended);
}

/// An upload to a service that fails in every way, and the samples that were recorded.
class FailingService {
 public:
  FailingService() : upload_({.delay = seconds(10), .max_data = 4, .max_bytes = 900}, kStart, 3) {}

  /// Records samples at a later time.
  void Record() {
    std::vector<MetricReading> readings;
    wall_ = wall_ + seconds(*rc::gen::inRange(10, 40));
    now_ = now_ + minutes(2);
    const auto count = *rc::gen::inRange(0, 7);
    for (int i = 0; i < count; ++i) {
      const int value = *rc::gen::inRange(-50, 50);
      const std::string stream = fmt::format("s{}", i);
      Statistic samples;
      samples.Add(value);
      samples.Add(value + 1);
      readings.push_back(Reading(Metric::kUserRecordsPending, stream, samples));
      recorded_[{wall_.value / 60'000, "UserRecordsPending,StreamName=" + stream}].Add(samples);
    }
    Respond(upload_.OnSamples(readings, wall_, now_), true);
  }
  void End() {
    Respond(upload_.OnLastSamples({}, wall_, now_), false);
    RC_ASSERT(ended_);
  }
  void Check() const {
    for (const auto& [metric, samples] : recorded_) {
      const auto at = shown_.find(metric);
      RC_ASSERT(at != shown_.end());
      const Statistic& shown = at->second;
      RC_ASSERT(shown.min == samples.min && shown.max == samples.max);
      const auto twice = doubled_.find(metric);
      Statistic wanted = samples;
      if (twice != doubled_.end()) wanted.Add(twice->second);
      RC_ASSERT(shown.count == wanted.count && shown.sum == wanted.sum);
    }
    RC_ASSERT(shown_.size() == recorded_.size());
    RC_ASSERT(upload_.stats().kept == 0U && upload_.stats().dropped == 0U);
    RC_ASSERT((upload_.stats().maybe_doubled > 0) || doubled_.empty());
  }

 private:
  void Respond(MetricsUploadStep step, bool may_fail) {
    while (step.body) {
      RC_ASSERT(DataIn(*step.body) <= 4U);
      RC_ASSERT(step.body->size() <= 900U);
      const auto fate = may_fail ? *rc::gen::inRange(0, 5) : 0;
      if (fate <= 1) Apply(*step.body, shown_);
      if (fate == 1) Apply(*step.body, doubled_);
      step = upload_.OnResponse(FailureOf(fate), now_);
    }
    ended_ = step.ended;
  }
  static std::optional<AwsFailure> FailureOf(int fate) {
    if (fate == 0) return std::nullopt;
    if (fate <= 2) return FailureOfKind(FailureClass::kAmbiguous, true);
    return FailureOfKind(fate == 3 ? FailureClass::kThrottle : FailureClass::kAuth);
  }

  MetricsUpload upload_;
  Instant now_ = kStart;
  UnixMillis wall_ = kWall;
  bool ended_ = false;
  Shown recorded_, shown_, doubled_;
};

// Fails if: a failure loses or doubles the data in flight (OnResponse without ReturnFlight, or
// without clearing it); merging loses samples (Keep without Add).
RC_GTEST_PROP(MetricsUploadProperty, CloudWatchShowsWhatWasRecordedAndTwiceOnlyWhatWasInDoubt, ()) {
  FailingService run;
  const auto rounds = *rc::gen::inRange(1, 12);
  for (int i = 0; i < rounds; ++i) run.Record();
  run.End();
  run.Check();
}

// Fails if: DropBeyondBounds does not count the data that it discards, or the data in flight.
RC_GTEST_PROP(MetricsUploadProperty, EachDatumIsUploadedKeptDroppedOrRefused, ()) {
  MetricsUpload upload({.max_minutes = 3, .max_kept = 20, .max_data = 7}, kStart, 3);
  std::uint64_t recorded = 0;
  bool in_flight = false;
  const auto follow = [&](const MetricsUploadStep& step) { in_flight |= step.body.has_value(); };
  const auto events = *rc::gen::inRange(1, 60);
  for (int i = 0; i < events; ++i) {
    const Instant now = kStart + minutes(2 * i);
    if (in_flight && *rc::gen::inRange(0, 3) > 0) {
      in_flight = false;
      const auto kind = *rc::gen::element(FailureClass::kTransient, FailureClass::kPermanent);
      const bool fails = *rc::gen::inRange(0, 3) > 0;
      follow(upload.OnResponse(fails ? std::optional(FailureOfKind(kind)) : std::nullopt, now));
    } else {
      const int count = *rc::gen::inRange(0, 15);
      recorded += static_cast<std::uint64_t>(count);
      follow(upload.OnSamples(Streams(0, count), kWall + minutes(i), now));
    }
    const MetricsUploadStats stats = upload.stats();
    RC_ASSERT(stats.uploaded + stats.dropped + stats.refused + stats.kept == recorded);
    RC_ASSERT(stats.kept <= 20U);
  }
}

}  // namespace
}  // namespace weir::kinesis
