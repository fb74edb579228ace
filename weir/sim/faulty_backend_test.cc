#include "weir/sim/faulty_backend.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "weir/sim/sim_scheduler.h"

namespace weir::sim {
namespace {

/// Admits every request, counts the calls, and completes them at once.
class CountingBackend final : public Backend, private BucketStore, private ConfigStore {
 public:
  BucketStore& buckets() override { return *this; }
  ConfigStore& config() override { return *this; }
  Status Close() override {
    ++closed;
    return Fail(Code::kDataLoss, "as the inner backend says");
  }
  std::string Describe() const override { return "counting"; }

  int happened = 0;
  int closed = 0;

 private:
  UnixMillis Now() const override { return {}; }
  void Acquire(std::span<const Charge> charges, UnixMillis, Deadline,
               Done<Decision> done) override {
    ++happened;
    Decision decision;
    decision.admitted = true;
    for (const Charge& charge : charges) {
      decision.limits.emplace_back().entity = charge.target->key.entity;
    }
    done(std::move(decision));
  }
  void Adjust(std::span<const Charge>, const AdjustTerms&, UnixMillis, Deadline,
              Done<void> done) override {
    ++happened;
    done({});
  }
  void Read(std::span<const BucketKey> keys, Deadline,
            Done<std::vector<std::optional<BucketRecord>>> done) override {
    ++happened;
    done(std::vector<std::optional<BucketRecord>>(keys.size()));
  }
  void List(const BucketFilter&, const PageRequest& page, Deadline,
            Done<Page<BucketRecord>> done) override {
    ++happened;
    done(Page<BucketRecord>{.items = {}, .next = page.cursor});
  }
  void GetLimits(std::span<const Level> levels, Deadline,
                 Done<std::vector<std::optional<LevelLimits>>> done) override {
    ++happened;
    done(std::vector<std::optional<LevelLimits>>(levels.size()));
  }
  void ListLimits(const LevelFilter&, const PageRequest& page, Deadline,
                  Done<Page<LevelRecord>> done) override {
    ++happened;
    done(Page<LevelRecord>{.items = {}, .next = page.cursor});
  }
  void GetEntities(std::span<const std::string> ids, Deadline,
                   Done<std::vector<std::optional<EntityRecord>>> done) override {
    ++happened;
    done(std::vector<std::optional<EntityRecord>>(ids.size()));
  }
  void ListEntities(const std::optional<std::string>&, const PageRequest& page, Deadline,
                    Done<Page<EntityRecord>> done) override {
    ++happened;
    done(Page<EntityRecord>{.items = {}, .next = page.cursor});
  }
  void Apply(std::vector<ConfigChange> changes, Deadline, Done<void> done) override {
    happened += static_cast<int>(changes.size());
    done({});
  }
};

class FaultyBackendTest : public testing::Test {
 protected:
  void Acquire(Deadline deadline = Deadline::Never()) {
    const Charge charge{MakeTarget({"acme", "api", 0}, {}), {}};
    response_.reset();
    faulty_.buckets().Acquire({&charge, 1}, scheduler_.clock().WallNow(), deadline,
                              [this](Result<Decision> decision) {
                                EXPECT_FALSE(response_) << "answered twice";
                                response_ = std::move(decision);
                              });
  }
  /// Returns the code of the result, or nothing if the call succeeded. REQUIRES: the call has
  /// completed.
  std::optional<Code> ResponseCode() const {
    if (response_.value()) return std::nullopt;
    return response_->error().code;
  }

  CountingBackend inner_;
  SimScheduler scheduler_;
  FaultyBackend faulty_{inner_, scheduler_, 1};
  std::optional<Result<Decision>> response_;
};

TEST_F(FaultyBackendTest, WithoutFaultsPassesAnswersOnAtOnce) {
  Acquire();
  ASSERT_TRUE(response_ && *response_);
  EXPECT_EQ((*response_)->limits.at(0).entity, "acme");
  EXPECT_EQ(inner_.happened, 1);
  EXPECT_EQ(faulty_.counts().calls, 1U);
  EXPECT_EQ(scheduler_.pending(), 0U);
}

TEST_F(FaultyBackendTest, FailBeforeAnswersUnavailableAndNothingHappened) {
  faulty_.faults.fail_before = 1;
  Acquire();
  EXPECT_EQ(ResponseCode(), Code::kUnavailable);
  EXPECT_EQ(inner_.happened, 0);
  EXPECT_EQ(faulty_.counts().failed_before, 1U);
}

TEST_F(FaultyBackendTest, FailAfterAnswersUnavailableAlthoughItHappened) {
  faulty_.faults.fail_after = 1;
  Acquire();
  EXPECT_EQ(ResponseCode(), Code::kUnavailable);
  EXPECT_EQ(inner_.happened, 1);
  EXPECT_EQ(faulty_.counts().failed_after, 1U);
}

TEST_F(FaultyBackendTest, FailBeforeWinsOverFailAfter) {
  faulty_.faults = {.fail_before = 1, .fail_after = 1};
  Acquire();
  EXPECT_EQ(inner_.happened, 0);
  EXPECT_EQ(faulty_.counts().failed_before, 1U);
  EXPECT_EQ(faulty_.counts().failed_after, 0U);
}

TEST_F(FaultyBackendTest, ADelayedCallHappensAtOnceAndAnswersWithinTheLongestDelay) {
  faulty_.faults = {.delay = 1, .longest_delay = milliseconds(10)};
  nanoseconds longest(0);
  for (int i = 0; i < 200; ++i) {
    const Instant start = scheduler_.clock().Now();
    Acquire();
    ASSERT_EQ(inner_.happened, i + 1);
    ASSERT_FALSE(response_);
    ASSERT_TRUE(scheduler_.RunAll());
    ASSERT_TRUE(response_ && *response_);
    longest = std::max(longest, scheduler_.clock().Now() - start);
  }
  EXPECT_LE(longest, milliseconds(10));
  EXPECT_GT(longest, milliseconds(9));
  EXPECT_EQ(faulty_.counts().delayed, 200U);
  EXPECT_EQ(faulty_.counts().timed_out, 0U);
}

TEST_F(FaultyBackendTest, FailuresAreDelayedToo) {
  faulty_.faults = {.fail_after = 1, .delay = 1, .longest_delay = milliseconds(10)};
  Acquire();
  EXPECT_FALSE(response_);
  scheduler_.RunAll();
  EXPECT_EQ(ResponseCode(), Code::kUnavailable);
}

TEST_F(FaultyBackendTest, ADelayBeyondTheDeadlineAnswersAtTheDeadline) {
  faulty_.faults = {.delay = 1, .longest_delay = std::chrono::hours(1000)};
  const Instant deadline = scheduler_.clock().Now() + milliseconds(50);
  Acquire(Deadline::At(deadline));
  scheduler_.Advance(milliseconds(50) - nanoseconds(1));
  EXPECT_FALSE(response_);
  scheduler_.Advance(nanoseconds(1));
  EXPECT_EQ(ResponseCode(), Code::kDeadlineExceeded);
  EXPECT_EQ(inner_.happened, 1);
  EXPECT_EQ(faulty_.counts().timed_out, 1U);
}

TEST_F(FaultyBackendTest, DownAnswersUnavailableAtOnceUntilItIsUpAgain) {
  faulty_.faults = {.delay = 1, .longest_delay = milliseconds(10), .down = true};
  Acquire();
  EXPECT_EQ(ResponseCode(), Code::kUnavailable);
  EXPECT_EQ(inner_.happened, 0);
  EXPECT_EQ(faulty_.counts().refused, 1U);
  faulty_.faults = {};
  Acquire();
  EXPECT_EQ(ResponseCode(), std::nullopt);
}

TEST_F(FaultyBackendTest, ClosePassesOnAndLaterCallsAreUnavailable) {
  const Status closed = faulty_.Close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, Code::kDataLoss);
  EXPECT_EQ(inner_.closed, 1);
  Acquire();
  EXPECT_EQ(ResponseCode(), Code::kUnavailable);
  EXPECT_EQ(inner_.happened, 0);
}

TEST_F(FaultyBackendTest, DescribesItselfAndLeavesTheInnerOneOpenWhenDestroyed) {
  {
    const FaultyBackend other(inner_, scheduler_, 2);
  }
  EXPECT_EQ(inner_.closed, 0);
  EXPECT_EQ(faulty_.Describe(), "faulty counting");
}

TEST_F(FaultyBackendTest, ADelayedAnswerOutlivesTheWrapper) {
  std::optional<Result<void>> response;
  {
    FaultyBackend other(inner_, scheduler_, 2);
    other.faults = {.delay = 1, .longest_delay = milliseconds(10)};
    other.config().Apply({DeleteEntity{"acme"}}, Deadline::Never(),
                         [&](Result<void> result) { response = std::move(result); });
  }
  scheduler_.RunAll();
  ASSERT_TRUE(response);
  EXPECT_TRUE(*response);
}

/// The results of one call of every method: how many completed, and how many of them succeeded.
struct Tally {
  int completed = 0;
  int good = 0;
};

void CallEveryVerb(Backend& backend, Tally& tally) {
  const auto note = [&tally](const auto& result) {
    ++tally.completed;
    if (result) ++tally.good;
  };
  const Charge charge{MakeTarget({"acme", "api", 0}, {}), {}};
  const std::vector<BucketKey> keys(1);
  const std::vector<Level> levels(1);
  const std::vector<std::string> ids(1);
  const Deadline never = Deadline::Never();
  backend.buckets().Acquire({&charge, 1}, {}, never, note);
  backend.buckets().Adjust({&charge, 1}, AdjustId{}, {}, never, note);
  backend.buckets().Read(keys, never, note);
  backend.buckets().List({}, {}, never, note);
  backend.config().GetLimits(levels, never, note);
  backend.config().ListLimits({}, {}, never, note);
  backend.config().GetEntities(ids, never, note);
  backend.config().ListEntities(std::nullopt, {}, never, note);
  backend.config().Apply({DeleteEntity{"acme"}}, never, note);
}

TEST_F(FaultyBackendTest, EveryVerbPassesThroughAndEveryVerbFails) {
  Tally passed, failed, down;
  CallEveryVerb(faulty_, passed);
  EXPECT_EQ(passed.completed, 9);
  EXPECT_EQ(passed.good, 9);
  EXPECT_EQ(inner_.happened, 9);
  faulty_.faults.fail_before = 1;
  CallEveryVerb(faulty_, failed);
  EXPECT_EQ(failed.completed, 9);
  EXPECT_EQ(failed.good, 0);
  EXPECT_EQ(inner_.happened, 9);
  faulty_.faults = {.down = true};
  CallEveryVerb(faulty_, down);
  EXPECT_EQ(down.completed, 9);
  EXPECT_EQ(down.good, 0);
  EXPECT_EQ(faulty_.counts().calls, 27U);
}

struct Run {
  Tally tally;
  FaultCounts counts;
  int happened = 0;
};

Run Play(std::uint64_t seed, const Faults& faults) {
  CountingBackend inner;
  SimScheduler scheduler;
  FaultyBackend faulty(inner, scheduler, seed);
  faulty.faults = faults;
  Run run;
  for (int i = 0; i < 100; ++i) CallEveryVerb(faulty, run.tally);
  scheduler.RunAll();
  run.counts = faulty.counts();
  run.happened = inner.happened;
  return run;
}

// Fails if: a delayed result is dropped, a failed call is made too, or a fault is not counted.
RC_GTEST_PROP(FaultyBackendProperty, EveryCallIsAnsweredOnceAndTheCountsAddUp, ()) {
  const Run run =
      Play(*rc::gen::arbitrary<std::uint64_t>(),
           {.fail_before = 0.2, .fail_after = 0.1, .delay = 0.5, .longest_delay = milliseconds(5)});
  const int before = static_cast<int>(run.counts.failed_before);
  const int after = static_cast<int>(run.counts.failed_after);
  RC_ASSERT(run.tally.completed == 900);
  RC_ASSERT(run.happened == 900 - before);
  RC_ASSERT(run.tally.good == 900 - before - after);
  RC_ASSERT(before > 100 && before < 260);
  RC_ASSERT(after > 20 && after < 140);
  RC_ASSERT(run.counts.delayed > 350U && run.counts.delayed < 550U);
}

// Fails if: a call that fails before it is made draws fewer times than other calls.
RC_GTEST_PROP(FaultyBackendProperty, OneFaultMoreLeavesTheOthersWhereTheyWere, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Faults delays{.delay = 0.5, .longest_delay = milliseconds(5)};
  Faults both = delays;
  both.fail_before = 0.3;
  RC_ASSERT(Play(seed, both).counts.failed_before > 0U);
  RC_ASSERT(Play(seed, both).counts.delayed == Play(seed, delays).counts.delayed);
}

}  // namespace
}  // namespace weir::sim
