#include "weir/kinesis/metrics/metrics_uploader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/kinesis/testing/cloudwatch_fixture.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/telemetry/testing/recording_log_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

AwsFailure Refusal(FailureClass kind, std::string message) {
  AwsFailure failure;
  failure.kind = kind;
  failure.message = std::move(message);
  return failure;
}

class MetricsUploaderTest : public testing::Test {
 protected:
  std::unique_ptr<MetricsUploader> Begin(MetricsUploadOptions options = {}) {
    return std::make_unique<MetricsUploader>(
        MetricsUploaderParts{metrics_, cloudwatch_, scheduler_, log_}, std::move(options),
        seconds(6), 1);
  }
  /// Counts this number of puts of 10 bytes each.
  void Put(int records) {
    StreamMetrics& stream = metrics_.Stream("orders");
    for (int i = 0; i < records; ++i) stream.OnPut(10);
    stream.Publish(scheduler_.clock().Now());
    put_ += static_cast<std::uint64_t>(records);
  }
  std::uint64_t Shown() const { return cloudwatch_.Of("UserRecordsReceived").count; }
  Deadline In(nanoseconds wait) { return Deadline::After(scheduler_.clock(), wait); }
  /// Closes the uploader, and advances the time until the close completes.
  void CloseWithin(MetricsUploader& uploader, nanoseconds wait) {
    closed_.reset();
    uploader.Close(In(wait), [this](const Result<void>& closed) { closed_ = closed; });
    scheduler_.Advance(wait);
  }

  sim::SimScheduler scheduler_{1};
  ProducerMetrics metrics_{MetricsOptions{}};
  FakeCloudWatch cloudwatch_{&scheduler_};
  RecordingLog log_;
  std::uint64_t put_ = 0;
  std::optional<Status> closed_;
};

TEST_F(MetricsUploaderTest, UploadsEachMinuteWhatWasCountedInIt) {
  const auto uploader = Begin();
  Put(3);
  scheduler_.Advance(seconds(59));
  EXPECT_THAT(cloudwatch_.calls, IsEmpty());
  scheduler_.Advance(seconds(1));
  ASSERT_THAT(cloudwatch_.calls, SizeIs(1));
  EXPECT_EQ(cloudwatch_.calls[0].operation, "PutMetricData");
  EXPECT_FALSE(cloudwatch_.calls[0].repeatable) << "a client must not send it twice by itself";
  EXPECT_EQ(cloudwatch_.Of("UserRecordsReceived"), (Statistic{3, 3, 1, 1}));
  EXPECT_EQ(cloudwatch_.Of("UserRecordsReceived,StreamName=orders"), (Statistic{3, 3, 1, 1}));
  Put(2);
  scheduler_.Advance(minutes(3));
  EXPECT_THAT(cloudwatch_.calls, SizeIs(2)) << "where nothing happens nothing is sent";
  EXPECT_EQ(Shown(), 5U);
  EXPECT_EQ(uploader->stats().requests, 2U);
}

TEST_F(MetricsUploaderTest, SendsNothingAtLevelNone) {
  ProducerMetrics none({.level = MetricsLevel::kNone});
  MetricsUploader uploader({none, cloudwatch_, scheduler_, log_}, {}, seconds(6), 1);
  none.Stream("a").OnPut(1);
  none.Stream("a").Publish(scheduler_.clock().Now());
  scheduler_.Advance(minutes(3));
  CloseWithin(uploader, seconds(1));
  EXPECT_TRUE(closed_ && *closed_);
  EXPECT_THAT(cloudwatch_.calls, IsEmpty());
}

TEST_F(MetricsUploaderTest, AnOutageIsLoggedAndWhatItHeldBackComesLater) {
  const auto uploader = Begin();
  for (int i = 0; i < 20; ++i) {
    cloudwatch_.failures.emplace_back(Refusal(FailureClass::kTransient, "monitoring: away"));
  }
  for (int minute = 0; minute < 5; ++minute) {
    Put(10);
    scheduler_.Advance(minutes(1));
  }
  EXPECT_EQ(Shown(), 0U);
  ASSERT_FALSE(log_.lines().empty());
  EXPECT_THAT(log_.lines(),
              Each(AllOf(HasSubstr("warning kinesis.metrics_failed"),
                         HasSubstr("message=monitoring: away"), HasSubstr(" lost=0 suppressed="))));
  cloudwatch_.failures.clear();
  scheduler_.Advance(minutes(2));
  EXPECT_EQ(Shown(), put_);
  EXPECT_EQ(uploader->stats().kept, 0U);
}

TEST_F(MetricsUploaderTest, ASlowAnswerDelaysUploadsAndNothingElse) {
  cloudwatch_.after = seconds(100);
  const auto uploader = Begin({.delay = seconds(2)});
  for (int i = 0; i < 10; ++i) {
    Put(1);
    scheduler_.Advance(seconds(2));
  }
  ASSERT_FALSE(cloudwatch_.deadlines.empty());
  EXPECT_LE(cloudwatch_.calls.size(), 4U) << "one at a time, each up to its time-out";
  EXPECT_LE(uploader->stats().kept, 8U) << "two metrics of two nodes, in two minutes";
}

TEST_F(MetricsUploaderTest, AnEndUploadsTheLastSamples) {
  const auto uploader = Begin();
  Put(4);
  CloseWithin(*uploader, seconds(5));
  EXPECT_TRUE(closed_ && *closed_);
  EXPECT_EQ(Shown(), 4U);
  Put(1);
  scheduler_.Advance(minutes(5));
  EXPECT_EQ(Shown(), 4U) << "it has ended";
}

TEST_F(MetricsUploaderTest, AnEndThatFailsSaysHowMuchIsMissingAndWhy) {
  const auto uploader = Begin();
  Put(1);
  cloudwatch_.failures.emplace_back(Refusal(FailureClass::kAuth, "not authorized"));
  CloseWithin(*uploader, seconds(5));
  ASSERT_TRUE(closed_);
  ASSERT_FALSE(*closed_);
  EXPECT_THAT(closed_->error().message,
              AllOf(HasSubstr("metrics were not uploaded to CloudWatch: not authorized")));
  EXPECT_THAT(cloudwatch_.calls, SizeIs(1));
}

// Fails if: the error of Close does not include the metrics that CloudWatch never accepts.
TEST_F(MetricsUploaderTest, I14AnEndTellsWhatWasRefused) {
  const auto uploader = Begin();
  Put(1);
  cloudwatch_.failures.emplace_back(Refusal(FailureClass::kPermanent, "a bad timestamp"));
  CloseWithin(*uploader, seconds(5));
  ASSERT_TRUE(closed_);
  ASSERT_FALSE(*closed_);
  EXPECT_THAT(closed_->error().message,
              HasSubstr("metrics were not uploaded to CloudWatch: a bad timestamp"));
}

// Fails if: metrics that are discarded beyond the bound are not logged.
TEST_F(MetricsUploaderTest, I14WhatFindsNoRoomIsLoggedAndTold) {
  const auto uploader = Begin({.max_kept = 1});
  Put(1);
  scheduler_.Advance(minutes(1) + seconds(1));
  ASSERT_THAT(log_.lines(), SizeIs(1));
  EXPECT_THAT(log_.lines()[0], HasSubstr("no room"));
  CloseWithin(*uploader, seconds(5));
  ASSERT_TRUE(closed_);
  ASSERT_FALSE(*closed_);
  EXPECT_EQ(closed_->error().code, Code::kResourceExhausted);
}

TEST_F(MetricsUploaderTest, AnEndComesByItsDeadline) {
  cloudwatch_.after = seconds(100);
  const auto uploader = Begin();
  Put(1);
  CloseWithin(*uploader, seconds(2));
  ASSERT_TRUE(closed_);
  ASSERT_FALSE(*closed_);
  EXPECT_EQ(closed_->error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(closed_->error().message, HasSubstr("metrics were not uploaded"));
  EXPECT_LE(cloudwatch_.deadlines.back(), In(nanoseconds(0)));
}

TEST_F(MetricsUploaderTest, AnEndWaitsForARequestThatIsUnderWay) {
  cloudwatch_.after = seconds(100);
  const auto uploader = Begin();
  Put(1);
  scheduler_.Advance(seconds(60));
  EXPECT_THAT(cloudwatch_.calls, SizeIs(1));
  CloseWithin(*uploader, seconds(2));
  EXPECT_FALSE(closed_) << "the client is in use";
  scheduler_.Advance(seconds(4));
  ASSERT_TRUE(closed_);
  ASSERT_FALSE(*closed_);
  EXPECT_EQ(closed_->error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(cloudwatch_.calls, SizeIs(1));
}

// Fails if: a second Close replaces the first, whose caller then waits for ever.
TEST_F(MetricsUploaderTest, EachEndHasAResult) {
  cloudwatch_.after = seconds(4);
  const auto uploader = Begin();
  Put(1);
  int results = 0;
  const auto count = [&results](const Result<void>& closed) { results += closed ? 1 : 0; };
  uploader->Close(In(seconds(5)), count);
  scheduler_.Advance(seconds(1));
  uploader->Close(In(seconds(9)), count);
  scheduler_.Advance(seconds(9));
  EXPECT_EQ(results, 2);
  EXPECT_EQ(Shown(), 1U);
}

// Fails if: the end of the first Close is put off by the second.
TEST_F(MetricsUploaderTest, TheEarliestEndCounts) {
  cloudwatch_.failures.assign(99, Refusal(FailureClass::kTransient, "away"));
  const auto uploader = Begin();
  Put(1);
  int results = 0;
  const auto count = [&results](const Result<void>&) { ++results; };
  uploader->Close(In(seconds(5)), count);
  uploader->Close(Deadline::Never(), count);
  scheduler_.Advance(seconds(5));
  EXPECT_EQ(results, 2);
}

// Fails if: a Close that comes after the end of an earlier one ends by the deadline of that one.
TEST_F(MetricsUploaderTest, ALaterEndHasItsOwnDeadline) {
  const auto uploader = Begin();
  uploader->Close(In(seconds(1)), [](const Result<void>&) {});
  scheduler_.Advance(seconds(3));
  cloudwatch_.after = seconds(2);
  Put(1);
  std::optional<Result<void>> closed;
  uploader->Close(In(seconds(5)), [&](Result<void> result) { closed = std::move(result); });
  scheduler_.Advance(seconds(5));
  ASSERT_TRUE(closed.has_value());
  EXPECT_TRUE(closed->has_value()) << closed->error().message;
}

// Fails if: a pending task uses the metrics of an uploader that was destroyed.
TEST_F(MetricsUploaderTest, WhatIsUnderWayWhenItIsDestroyedIsAbandoned) {
  cloudwatch_.after = seconds(1);
  auto uploader = Begin();
  Put(1);
  scheduler_.Advance(seconds(60));
  EXPECT_THAT(cloudwatch_.calls, SizeIs(1));
  uploader->Close(In(seconds(9)), [this](const Result<void>& closed) { closed_ = closed; });
  uploader.reset();
  Put(1);
  scheduler_.Advance(minutes(5));
  EXPECT_THAT(cloudwatch_.calls, SizeIs(1));
  ASSERT_TRUE(closed_);
  EXPECT_EQ(closed_->error().code, Code::kCancelled);
}

}  // namespace
}  // namespace weir::kinesis
