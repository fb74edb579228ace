// Events release slots. Tests named L.. are regression tests for defects of rate-limiter-py.
#include "weir/events/event_releaser.h"

#include <absl/time/time.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "weir/events/testing/event_rules_fixture.h"
#include "weir/events/testing/slots_in_memory_fixture.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/telemetry/testing/recording_log_fixture.h"

namespace weir {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::FieldsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Why = UnreleasedResource::Why;

const SlotRef kSlot{{"emr", "acme"}, "slot"};

class EventReleaserTest : public testing::Test {
 protected:
  EventReleaserTest() { Make({}); }

  void Make(EventReleaserOptions options) {
    options.unreleased = [this](const UnreleasedResource& one) { unreleased_.push_back(one.why); };
    releaser_ =
        std::make_unique<EventReleaser>(ClusterRule(), store_.backend(), scheduler_, options);
  }
  void Take(const std::string& event) {
    releaser_->Take(event, std::nullopt,
                    {.settled = [this](const auto& one) { taken_.push_back(Plain(one)); },
                     .over = [this](const auto& end) { end ? ++over_ : ++lost_; }});
    scheduler_.RunReady();
  }
  /// Returns the status of the last event that was settled.
  Status Last() const {
    return taken_.empty() ? Status(Fail(Code::kUnknown, "no answer")) : taken_.back();
  }
  static Status Plain(const Result<bool>& settled) {
    return settled.transform([](bool) {});
  }
  UnixMillis Wall() const { return scheduler_.clock().WallNow(); }
  Result<HeldSlot> Bind(const std::string& resource) {
    Result<HeldSlot> bound = Fail(Code::kUnknown, "");
    store_.Bind(kSlot, resource, milliseconds(28'800'000), Wall(), Deadline::Never(),
                [&bound](Result<HeldSlot> result) { bound = std::move(result); });
    return bound;
  }

  sim::SimScheduler scheduler_;
  SlotsInMemory store_;
  std::vector<Status> taken_;
  int over_ = 0;
  int lost_ = 0;
  std::vector<Why> unreleased_;
  std::unique_ptr<EventReleaser> releaser_;
};

TEST_F(EventReleaserTest, AnEventFreesEverySlotOfItsResource) {
  for (const char* slot : {"a", "b"}) store_.BoundByOthers(slot, "j-1");
  store_.BoundByOthers("c", "j-2");
  Take(ClusterEvent("j-1"));
  EXPECT_TRUE(Last());
  EXPECT_THAT(store_.held(), ElementsAre("c"));
  EXPECT_EQ(releaser_->stats().release.slots, 2U);
  scheduler_.RunAll();
  EXPECT_THAT(store_.asked, SizeIs(2)) << "once more";
}

TEST_F(EventReleaserTest, WhatBecameOfAnEndIsLogged) {
  RecordingLog log;
  Make({.release = {.retry_waits = {}, .max_tries = 1}, .log = &log});
  store_.BoundByOthers("a", "j-1");
  Take(ClusterEvent("j-1"));
  Take(ClusterEvent("j-2"));
  store_.faults.assign(1, {Code::kUnavailable, "away"});
  Take(ClusterEvent("j-3"));
  EXPECT_THAT(log.lines(),
              ElementsAre("info events.released resource_id=j-1 slots=1",
                          "debug events.not_released resource_id=j-2 cause=unknown message=",
                          "warning events.not_released resource_id=j-3 cause=failed message=away"));
}

TEST_F(EventReleaserTest, AnEventThatNoRuleMatchesMayBeForgotten) {
  Take(R"({"source":"aws.ec2"})");
  EXPECT_TRUE(Last());
  EXPECT_THAT(store_.asked, IsEmpty());
  EXPECT_EQ(releaser_->stats().seen, 1U);
  EXPECT_EQ(releaser_->stats().matched, 0U);
}

// Fails if: each of a rule's events is logged, or none.
TEST_F(EventReleaserTest, TheFirstEventThatLacksTheIdOfARuleIsLogged) {
  RecordingLog log;
  Make({.log = &log});
  for (int i = 0; i < 3; ++i) Take(R"({"source":"aws.emr","detail":{"clusterID":"j-1"}})");
  EXPECT_TRUE(Last());
  EXPECT_THAT(log.lines(), ElementsAre(testing::StartsWith(
                               "warning events.without_id rule=1 path=detail.clusterId message=")));
  EXPECT_EQ(releaser_->stats().without_id, 3U);
  EXPECT_EQ(releaser_->stats().matched, 0U);
}

TEST_F(EventReleaserTest, WhatIsNoEventIsToldSo) {
  Take("hello");
  ASSERT_FALSE(Last());
  EXPECT_EQ(Last().error().code, Code::kInvalidArgument);
  EXPECT_EQ(releaser_->stats().bad, 1U);
}

TEST_F(EventReleaserTest, TheStoreIsToldWhenItEndedAndHowLongToRemember) {
  Make({.remember = minutes(10)});
  Take(ClusterEvent("j-1"));
  EXPECT_THAT(store_.asked, ElementsAre(FieldsAre("j-1", Wall(), Wall() + minutes(10), false)));
}

// In rate-limiter-py, an event that came before its cluster was bound was recorded as done, and the
// slot was held for its 8 hours. In Weir, the binding fails because the cluster has ended.
TEST_F(EventReleaserTest, L12AnEventBeforeTheBindingFreesTheSlotAtItsBinding) {
  store_.Claimed("slot", Wall());
  Take(ClusterEvent("j-1"));
  EXPECT_TRUE(Last()) << "the store remembers";
  const auto bound = Bind("j-1");
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(store_.held(), IsEmpty());
}

// The clients of rate-limiter-py do not check for ends, so the request to the store is repeated.
TEST_F(EventReleaserTest, L12AnEventBeforeTheBindingOfAnotherClientFreesItsSlotSoonAfter) {
  Take(ClusterEvent("j-1"));
  scheduler_.Advance(seconds(20));
  store_.BoundByOthers("a", "j-1");
  scheduler_.Advance(seconds(16));
  EXPECT_THAT(store_.held(), IsEmpty());
  EXPECT_EQ(releaser_->stats().release.released, 1U);
}

TEST_F(EventReleaserTest, L12ALaterEventAboutTheSameResourceIsNotIgnored) {
  Take(ClusterEvent("j-1"));
  scheduler_.Advance(minutes(10));
  store_.BoundByOthers("a", "j-1");
  Take(ClusterEvent("j-1"));
  EXPECT_THAT(store_.held(), IsEmpty());
}

// In rate-limiter-py, the list of handled ids grew without bound. Weir keeps no handled events, and
// the number of pending ones is bounded.
TEST_F(EventReleaserTest, L13NothingIsKeptOfWhatWasDealtWith) {
  for (int i = 0; i < 1'000; ++i) {
    const std::string id = std::to_string(i);
    store_.BoundByOthers("s" + id, id);
    Take(ClusterEvent(id));
  }
  EXPECT_EQ(releaser_->stats().release.pending, 0U);
  scheduler_.Advance(seconds(2));
  EXPECT_EQ(scheduler_.pending(), 0U);
}

TEST_F(EventReleaserTest, L13UnknownResourcesAreKeptWithinABound) {
  Make({.release = {.max_pending = 100}});
  for (int i = 0; i < 1'000; ++i) Take(ClusterEvent(std::to_string(i)));
  EXPECT_EQ(releaser_->stats().release.pending, 100U);
  EXPECT_THAT(unreleased_, SizeIs(900));
  scheduler_.RunAll();
  EXPECT_EQ(releaser_->stats().release.pending, 0U);
  EXPECT_EQ(releaser_->stats().release.given_up, 900U);
  EXPECT_EQ(releaser_->stats().release.unknown, 100U);
}

TEST_F(EventReleaserTest, AnEventAgainDoesNoHarmToALaterSlotOfTheSameName) {
  const std::string event = R"({"source":"aws.emr","detail":{"clusterId":"j-1"},)"
                            R"("time":"2026-01-01T00:00:00Z"})";
  scheduler_.Advance(minutes(1));
  store_.Claimed("slot", Wall());
  ASSERT_TRUE(Bind("j-1"));
  Take(event);
  scheduler_.RunAll();
  EXPECT_THAT(store_.held(), ElementsAre("slot"));
}

// The clock was ahead or behind when the store was opened, and is right now. Fails if: the time of
// the end is wall time, while the times of slots are bucket time.
class EventReleaserOnAWrongBoot : public EventReleaserTest,
                                  public testing::WithParamInterface<milliseconds> {
 protected:
  EventReleaserOnAWrongBoot() {
    const UnixMillis right = Wall();
    scheduler_.sim_clock().SetWall(right + GetParam());
    store_.UseTimeOf(scheduler_.clock());
    scheduler_.sim_clock().SetWall(right);
  }
  UnixMillis BucketNow() { return store_.backend().Now(scheduler_.clock()); }
  void ClaimAndBind() {
    store_.Claimed(kSlot.id, BucketNow());
    store_.Bind(kSlot, "j-1", milliseconds(28'800'000), BucketNow(), Deadline::Never(),
                [](const Result<HeldSlot>& bound) { EXPECT_TRUE(bound); });
  }
  std::string EventNow() {
    const absl::Time time = absl::FromUnixMillis(Wall().value);
    return fmt::format(R"({{"source":"aws.emr","detail":{{"clusterId":"j-1"}},"time":"{}"}})",
                       absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone()));
  }
};

TEST_P(EventReleaserOnAWrongBoot, C4AnEndReleasesTheSlotOfItsThing) {
  ClaimAndBind();
  scheduler_.Advance(minutes(10));
  Take(EventNow());
  EXPECT_TRUE(Last());
  EXPECT_THAT(store_.held(), IsEmpty());
}

TEST_P(EventReleaserOnAWrongBoot, C4ALateEventOfAnEarlierThingReleasesNothing) {
  const std::string earlier = EventNow();
  scheduler_.Advance(minutes(10));
  ClaimAndBind();
  Take(earlier);
  scheduler_.RunAll();
  EXPECT_THAT(store_.held(), ElementsAre(kSlot.id));
  EXPECT_EQ(store_.asked.front().remember_until, store_.asked_at.front() + std::chrono::hours(1));
}

INSTANTIATE_TEST_SUITE_P(HalfAnHour, EventReleaserOnAWrongBoot,
                         testing::Values(minutes(30), minutes(0), minutes(-30)));

TEST_F(EventReleaserTest, ItIsNotSafeBeforeTheStoreAnswers) {
  store_.silent = true;
  Take(ClusterEvent("j-1"));
  EXPECT_THAT(taken_, IsEmpty());
  store_.waiting[0](std::size_t{0});
  EXPECT_THAT(taken_, IsEmpty()) << "done runs on the scheduler's thread";
  scheduler_.RunReady();
  EXPECT_TRUE(Last());
}

// For any number of consecutive failures, the event succeeds in the end or its source gets an
// error.
TEST_F(EventReleaserTest, EveryNumberOfFailuresEndsInOneAnswer) {
  const ReleaseOptions options;
  for (std::size_t failures = 0; failures <= options.max_tries; ++failures) {
    taken_.clear();
    store_.faults.assign(failures, {Code::kUnavailable, "away"});
    store_.BoundByOthers("a", "j-1");
    Take(ClusterEvent("j-1"));
    scheduler_.Advance(seconds(20));
    ASSERT_THAT(taken_, SizeIs(1)) << failures;
    EXPECT_EQ(Last().has_value(), failures < options.max_tries) << failures;
    EXPECT_EQ(store_.held().empty(), failures < options.max_tries) << failures;
    store_.faults.clear();
  }
  EXPECT_THAT(unreleased_, ElementsAre(Why::kFailed));
}

// R8. Fails if: an event is over before its last repeated request, or never.
TEST_F(EventReleaserTest, R8AnEventIsOverWhenTheStoreIsNotAskedAgain) {
  Take(ClusterEvent("j-1"));
  EXPECT_TRUE(Last());
  scheduler_.Advance(seconds(155));
  EXPECT_EQ(over_, 0);
  EXPECT_THAT(store_.asked, SizeIs(4));
  scheduler_.Advance(seconds(5));
  EXPECT_EQ(over_, 1);
  EXPECT_THAT(store_.asked, SizeIs(5));
}

// Fails if: the request is repeated for a store that only Weir's clients use.
TEST_F(EventReleaserTest, R8APlaceWithoutOtherClientsIsAskedOnce) {
  store_.UseTimeOf(scheduler_.clock());
  Make({});
  Take(ClusterEvent("j-1"));
  EXPECT_TRUE(Last());
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_THAT(store_.asked, SizeIs(1));
  EXPECT_EQ(over_, 0) << "it was over when it was settled";
}

// Fails if: an end is later than the sending of its event.
TEST_F(EventReleaserTest, WhatAnEventTellsHappenedBeforeItWasSent) {
  const UnixMillis sent = Wall() - milliseconds(1500);
  releaser_->Take(ClusterEvent("j-1"), sent,
                  {.settled = [](const auto&) {}, .over = [](const auto&) {}});
  scheduler_.RunReady();
  ASSERT_THAT(store_.asked, SizeIs(1));
  EXPECT_EQ(store_.asked[0].ended_at, sent);
}

TEST_F(EventReleaserTest, ARequestThatFailsLaterIsTriedAgain) {
  Take(ClusterEvent("j-1"));
  store_.faults.assign(2, {Code::kDeadlineExceeded, "late"});
  store_.BoundByOthers("a", "j-1");
  scheduler_.Advance(seconds(2));
  EXPECT_THAT(store_.held(), IsEmpty());
  EXPECT_THAT(taken_, SizeIs(1));
}

TEST_F(EventReleaserTest, ClosingAnswersWhatIsNotDone) {
  store_.silent = true;
  Take(ClusterEvent("j-1"));
  releaser_->Take(ClusterEvent("j-2"), std::nullopt,
                  {.settled = [this](const auto& one) { taken_.push_back(Plain(one)); },
                   .over = [this](const auto& end) { end ? ++over_ : ++lost_; }});
  releaser_.reset();
  scheduler_.RunReady();
  ASSERT_THAT(taken_, SizeIs(2));
  for (const Status& status : taken_) EXPECT_EQ(status.error().code, Code::kCancelled);
  store_.waiting[0](std::size_t{1});
  EXPECT_TRUE(scheduler_.RunAll());
  EXPECT_THAT(store_.asked, SizeIs(1)) << "nothing is asked afterwards";
}

}  // namespace
}  // namespace weir
