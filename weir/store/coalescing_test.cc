#include "weir/store/coalescing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "weir/base/rng.h"
#include "weir/runtime/await.h"
#include "weir/sim/faulty_backend.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/gated_store_fixture.h"
#include "weir/store/memory_backend.h"

namespace weir {
namespace {

using std::chrono::seconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr UnixMillis kNow{1'767'225'600'013};

TargetPtr TargetOf(const std::string& entity, std::int64_t capacity) {
  return MakeTarget({entity, "llm", 0}, {{"rpm", PerMinute(capacity)}});
}

class CoalescingTest : public testing::Test {
 protected:
  struct Told {
    int times = 0;
    std::optional<Result<Decision>> answer;

    const Decision& decision() const { return **answer; }
    std::int64_t available() const { return decision().limits.at(0).available; }
  };

  /// Of whole tokens; the answer comes into told_.
  std::size_t Ask(const TargetPtr& target, std::int64_t tokens, milliseconds later = {},
                  Deadline deadline = Deadline::Never()) {
    const std::size_t index = told_.size();
    told_.emplace_back(std::make_unique<Told>());
    store_->Acquire(std::vector<Charge>{{target, {tokens * 1000}}}, kNow + later, deadline,
                    [told = told_.back().get()](Result<Decision> answer) {
                      ++told->times;
                      told->answer.emplace(std::move(answer));
                    });
    return index;
  }
  Deadline In(nanoseconds wait) { return Deadline::After(scheduler_->clock(), wait); }
  const Told& told(std::size_t index) const { return *told_[index]; }
  /// What was asked of the store behind, in tokens of its first limit.
  std::vector<std::int64_t> Amounts() {
    std::vector<std::int64_t> amounts;
    for (const auto& asked : gate_.asked()) {
      amounts.push_back(asked.charges.at(0).amounts.at(0) / 1000);
    }
    return amounts;
  }
  std::vector<int> Times() const {
    std::vector<int> times;
    for (const auto& told : told_) times.push_back(told->times);
    return times;
  }

  std::unique_ptr<Backend> memory_ = MakeMemoryBackend();
  GatedStore gate_{memory_->buckets()};
  std::unique_ptr<sim::SimScheduler> scheduler_ = std::make_unique<sim::SimScheduler>();
  std::unique_ptr<CoalescingBucketStore> store_ =
      std::make_unique<CoalescingBucketStore>(gate_, *scheduler_);
  std::vector<std::unique_ptr<Told>> told_;
  const TargetPtr bucket_ = TargetOf("acme", 800);
};

TEST_F(CoalescingTest, ALoneRequestGoesAtOnceAsItIs) {
  Ask(bucket_, 3, milliseconds(7), In(seconds(1)));
  ASSERT_EQ(gate_.asked().size(), 1U);
  EXPECT_EQ(gate_.asked()[0].charges[0].target, bucket_);
  EXPECT_EQ(gate_.asked()[0].now, kNow + milliseconds(7));
  EXPECT_EQ(gate_.asked()[0].deadline, In(seconds(1)));
  gate_.Release();
  EXPECT_TRUE(told(0).decision().admitted);
  EXPECT_FALSE(told(0).decision().maybe_charged_twice);
  Ask(bucket_, 1);
  EXPECT_THAT(Amounts(), ElementsAre(3, 1)) << "the next one too";
}

TEST_F(CoalescingTest, WhatComesMeanwhileIsAskedAsOne) {
  Ask(bucket_, 1);
  Ask(bucket_, 2, milliseconds(1), In(seconds(9)));
  Ask(bucket_, 3, milliseconds(2), In(seconds(5)));
  Ask(bucket_, 4, milliseconds(1), In(seconds(7)));
  EXPECT_THAT(Amounts(), ElementsAre(1));
  gate_.Release();
  EXPECT_THAT(Amounts(), ElementsAre(1, 9));
  EXPECT_EQ(gate_.asked()[1].now, kNow + milliseconds(2)) << "the latest";
  EXPECT_EQ(gate_.asked()[1].deadline, In(seconds(5))) << "the earliest";
  EXPECT_THAT(Times(), ElementsAre(1, 0, 0, 0));
  gate_.Release();
  EXPECT_THAT(Times(), ElementsAre(1, 1, 1, 1));
}

TEST_F(CoalescingTest, EachIsToldAsIfTheyHadBeenAskedOneAfterTheOther) {
  for (const int tokens : {1, 2, 3, 4}) Ask(bucket_, tokens);
  while (gate_.Release()) {
  }
  std::vector<std::int64_t> available, requested;
  for (const auto& told : told_) {
    EXPECT_TRUE(told->decision().admitted);
    available.push_back(told->available() / 1000);
    requested.push_back(told->decision().limits[0].requested / 1000);
  }
  EXPECT_THAT(available, ElementsAre(800, 799, 797, 794));
  EXPECT_THAT(requested, ElementsAre(1, 2, 3, 4));
}

TEST_F(CoalescingTest, OnlyWhatHasTheSameTargetsJoins) {
  Ask(bucket_, 1);
  Ask(TargetOf("acme", 800), 1);  // by other limits, perhaps
  Ask(TargetOf("corp", 800), 1);
  EXPECT_EQ(Amounts().size(), 3U);
  store_->Acquire(std::vector<Charge>{{bucket_, {1000}}, {TargetOf("corp", 800), {1000}}}, kNow,
                  Deadline::Never(), [](const Result<Decision>&) {});
  EXPECT_EQ(Amounts().size(), 4U) << "a bucket and another one, at once";
}

TEST_F(CoalescingTest, TogetherTheyAreSmallAgainstTheCapacity) {
  for (int i = 0; i < 5; ++i) Ask(bucket_, 40);
  Ask(bucket_, 300);
  Ask(bucket_, 10);
  while (gate_.Release()) {
  }
  EXPECT_THAT(Amounts(), ElementsAre(40, 80, 80, 300, 10));
}

TEST_F(CoalescingTest, WhoIsRefusedIsRefusedByAnAnswerOfItsOwn) {
  Ask(bucket_, 795);
  Ask(bucket_, 2);
  Ask(bucket_, 2);
  Ask(bucket_, 2);
  Ask(bucket_, 1);
  while (gate_.Release()) {
  }
  EXPECT_THAT(Amounts(), ElementsAre(795, 7, 4, 3, 2, 1));
  EXPECT_THAT(Times(), ElementsAre(1, 1, 1, 1, 1));
  EXPECT_TRUE(told(2).decision().admitted);
  EXPECT_FALSE(told(3).decision().admitted);
  EXPECT_EQ(told(3).decision().retry_after, milliseconds(75)) << "one token, by 800 a minute";
  EXPECT_TRUE(told(4).decision().admitted) << "it needs no more than is there";
}

// Fails if: the doubt about a joint request is lost with its refusal.
TEST_F(CoalescingTest, I15WhatMayHaveBeenChargedIsReportedAfterARefusal) {
  const TargetPtr acme = TargetOf("acme", 1'000);
  for (int i = 0; i < 3; ++i) Ask(acme, 1);
  ASSERT_TRUE(gate_.Release());
  Decision refusal{.retry_after = milliseconds(1), .maybe_charged_twice = true};
  refusal.limits.push_back({.entity = "acme", .resource = "llm", .limit = "rpm"});
  ASSERT_TRUE(gate_.Answer(refusal));
  while (gate_.Release()) {
  }
  EXPECT_FALSE(told(0).decision().maybe_charged_twice);
  for (const std::size_t i : {1U, 2U}) {
    EXPECT_TRUE(told(i).decision().admitted) << i;
    EXPECT_TRUE(told(i).decision().maybe_charged_twice) << i;
  }
}

// Asking for a part of them would only lose to others again.
TEST_F(CoalescingTest, C26AllOfAJointRequestThatIsContendedAreToldSo) {
  const TargetPtr acme = TargetOf("acme", 1'000);
  for (int i = 0; i < 3; ++i) Ask(acme, 1);
  ASSERT_TRUE(gate_.Release());
  ASSERT_TRUE(gate_.Answer({.retry_after = milliseconds(100), .contended = true}));
  EXPECT_THAT(Times(), Each(1));
  EXPECT_TRUE(told(0).decision().admitted);
  for (const std::size_t i : {1U, 2U}) {
    EXPECT_TRUE(told(i).decision().contended) << i;
    EXPECT_EQ(told(i).decision().retry_after, milliseconds(100)) << i;
  }
  EXPECT_THAT(Amounts(), ElementsAre(1, 2));
}

TEST_F(CoalescingTest, NobodyWaitsLongForAnotherOnesAnswer) {
  Ask(bucket_, 1);
  Ask(bucket_, 2);
  scheduler_->Advance(milliseconds(3));
  Ask(bucket_, 4);
  scheduler_->Advance(milliseconds(2) - nanoseconds(1));
  EXPECT_THAT(Amounts(), ElementsAre(1));
  scheduler_->Advance(nanoseconds(1));
  EXPECT_THAT(Amounts(), ElementsAre(1, 6)) << "5 ms after the first of those that wait came";
  Ask(bucket_, 8);
  scheduler_->Advance(milliseconds(5));
  EXPECT_THAT(Amounts(), ElementsAre(1, 6, 8));
  while (gate_.Release()) {
  }
  EXPECT_THAT(Times(), Each(1));
  scheduler_->Advance(seconds(1));
  EXPECT_EQ(scheduler_->pending(), 0U);
}

TEST_F(CoalescingTest, WhoHasLittleTimeSharesWithNobody) {
  Ask(bucket_, 1);
  Ask(bucket_, 2, {}, In(milliseconds(10)));
  Ask(bucket_, 3, {}, In(milliseconds(11)));
  EXPECT_THAT(Amounts(), ElementsAre(1, 2));
}

TEST_F(CoalescingTest, AWrongRequestIsToldAtOnceAndSpoilsNoOther) {
  Ask(bucket_, 1);
  Ask(bucket_, 1);
  Ask(bucket_, 801);
  EXPECT_THAT(Times(), ElementsAre(0, 0, 1));
  EXPECT_EQ(told(2).answer->error().code, Code::kInvalidArgument);
  EXPECT_THAT(told(2).answer->error().message, HasSubstr("801"));
  while (gate_.Release()) {
  }
  EXPECT_TRUE(told(1).decision().admitted);
}

TEST_F(CoalescingTest, AFailureIsToldToAllWhoHadNoMoreTime) {
  Ask(bucket_, 1);
  Ask(bucket_, 1, {}, In(seconds(1)));
  Ask(bucket_, 1, {}, In(seconds(1) + milliseconds(5)));
  gate_.Release(Error{Code::kUnavailable, "away"});
  gate_.Release(Error{Code::kDeadlineExceeded, "too late"});
  EXPECT_THAT(Times(), ElementsAre(1, 1, 1));
  EXPECT_EQ(told(0).answer->error().message, "away");
  EXPECT_EQ(told(1).answer->error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(told(2).answer->error().code, Code::kDeadlineExceeded);
  EXPECT_FALSE(gate_.Release());
}

TEST_F(CoalescingTest, WhoHasMoreTimeDoesNotFailWithWhomItJoined) {
  Ask(bucket_, 1);
  Ask(bucket_, 2, {}, In(seconds(1)));
  Ask(bucket_, 3, milliseconds(1), In(seconds(9)));
  gate_.Release();
  scheduler_->Advance(seconds(1));
  gate_.Release(Error{Code::kDeadlineExceeded, "too late"});
  EXPECT_THAT(Times(), ElementsAre(1, 1, 0));
  EXPECT_THAT(Amounts(), ElementsAre(1, 5, 3));
  EXPECT_EQ(gate_.asked()[2].now, kNow + milliseconds(1001)) << "dated by when it goes";
  gate_.Release();
  EXPECT_TRUE(told(2).decision().admitted);
  EXPECT_TRUE(told(2).decision().maybe_charged_twice);
}

TEST_F(CoalescingTest, WhatCannotSucceedIsNotTriedAgain) {
  Ask(bucket_, 1);
  Ask(bucket_, 2, {}, In(seconds(1)));
  Ask(bucket_, 3, {}, In(seconds(9)));
  gate_.Release();
  gate_.Release(Error{Code::kFailedPrecondition, "not implemented"});
  EXPECT_THAT(Times(), ElementsAre(1, 1, 1));
}

// The stack would not hold a recursion.
TEST_F(CoalescingTest, ALongLineIsServedByAStoreThatAnswersAtOnce) {
  Ask(bucket_, 800);
  for (int i = 0; i < 30'000; ++i) Ask(bucket_, 100);
  gate_.Open();
  gate_.Release();
  EXPECT_THAT(Times(), Each(1));
}

TEST_F(CoalescingTest, WhoAsksAgainWhenItIsToldJoinsTheNext) {
  int rounds = 0;
  std::function<void()> ask = [&] {
    store_->Acquire(std::vector<Charge>{{bucket_, {1000}}}, kNow, Deadline::Never(),
                    [&](const Result<Decision>& answer) {
                      if (answer && ++rounds < 16) ask();
                    });
  };
  for (int i = 0; i < 4; ++i) ask();
  while (gate_.Release()) {
  }
  EXPECT_THAT(Amounts(), ElementsAre(1, 4, 4, 4, 4, 2)) << "the first went alone";
}

TEST_F(CoalescingTest, StoreAndSchedulerMayGoWithTheLastAnswer) {
  const auto leave = [&](const Result<Decision>&) {
    store_.reset();
    scheduler_.reset();
  };
  const std::vector<Charge> charges{{bucket_, {1000}}};
  store_->Acquire(charges, kNow, Deadline::Never(), leave);
  gate_.Release();
  ASSERT_EQ(store_, nullptr);

  scheduler_ = std::make_unique<sim::SimScheduler>();
  store_ = std::make_unique<CoalescingBucketStore>(gate_, *scheduler_);
  Ask(bucket_, 1);
  Ask(bucket_, 1);
  store_->Acquire(charges, kNow, Deadline::Never(), leave);
  gate_.Open();
  gate_.Release();
  ASSERT_EQ(store_, nullptr);
  EXPECT_THAT(Times(), ElementsAre(1, 1));

  scheduler_ = std::make_unique<sim::SimScheduler>();
  store_ = std::make_unique<CoalescingBucketStore>(gate_, *scheduler_);
  store_->Acquire(charges, kNow, Deadline::Never(), leave);
  EXPECT_EQ(store_, nullptr) << "before the call returns";
}

/// Charges of a child and its parent, two limits each.
std::vector<Charge> RandomCharges(Rng& rng, const std::vector<TargetPtr>& targets) {
  std::vector<Charge> charges;
  for (const TargetPtr& target : targets) {
    charges.push_back({target, {rng.Between(0, 2) * 1000, rng.Between(0, 40'000)}});
  }
  return charges;
}

std::vector<TargetPtr> Family() {
  const std::vector<Limit> limits{{"rpm", PerMinute(30)}, {"tpm", PerMinute(600)}};
  return {MakeTarget({"child", "llm", 0}, limits), MakeTarget({"parent", "llm", 0}, limits)};
}

RC_GTEST_PROP(CoalescingProperty, AnswersAreThoseOfOneAfterTheOther, (std::uint64_t seed)) {
  Rng rng(seed);
  const std::vector<TargetPtr> targets = Family();
  const auto memory = MakeMemoryBackend();
  const auto other = MakeMemoryBackend();
  sim::SimScheduler scheduler;
  GatedStore gate(memory->buckets());
  CoalescingBucketStore store(gate, scheduler);
  std::vector<Decision> told, expected;
  for (std::uint64_t i = rng.Below(60); i > 0; --i) {
    const std::vector<Charge> charges = RandomCharges(rng, targets);
    store.Acquire(charges, kNow, Deadline::Never(),
                  [&](const Result<Decision>& answer) { told.push_back(*answer); });
    other->buckets().Acquire(charges, kNow, Deadline::Never(),
                             [&](const Result<Decision>& answer) { expected.push_back(*answer); });
    if (rng.Chance(0.2)) gate.Release();
  }
  while (gate.Release()) {
  }
  RC_ASSERT(told == expected);
}

RC_GTEST_PROP(CoalescingProperty, EachIsAnsweredOnceAndNoTokenIsMintedUnderFaults,
              (std::uint64_t seed)) {
  Rng rng(seed);
  const std::vector<TargetPtr> targets = Family();
  const auto memory = MakeMemoryBackend();
  sim::SimScheduler scheduler(seed);
  sim::FaultyBackend faulty(*memory, scheduler, seed);
  faulty.faults = {.fail_before = 0.05,
                   .fail_after = 0.05,
                   .delay = 0.9,
                   .longest_delay = milliseconds(rng.Between(1, 40))};
  CoalescingBucketStore store(faulty.buckets(), scheduler);
  int asked = 0, answered = 0, late = 0;
  std::int64_t admitted = 0;
  for (std::int64_t at = 0; at < 200; at += rng.Between(0, 3)) {
    scheduler.At(scheduler.clock().Now() + milliseconds(at), [&] {
      const std::vector<Charge> charges = RandomCharges(rng, targets);
      const auto deadline = Deadline::After(scheduler.clock(), milliseconds(rng.Between(1, 60)));
      ++asked;
      store.Acquire(charges, scheduler.clock().WallNow(), deadline,
                    [&, deadline, tokens = charges[0].amounts[1]](const Result<Decision>& answer) {
                      ++answered;
                      if (scheduler.clock().Now() > deadline.at()) ++late;
                      if (answer && answer->admitted) admitted += tokens;
                    });
    });
  }
  RC_ASSERT(scheduler.RunAll());
  RC_ASSERT(answered == asked);
  RC_ASSERT(late == 0);
  // A bucket of 600 with 600 a minute, over at most 260 ms.
  RC_ASSERT(admitted <= 600'000 + 2'600);
}

TEST(CoalescingThreads, EveryThreadGetsItsOwnAnswer) {
  const auto memory = MakeMemoryBackend();
  sim::SimScheduler scheduler;  // its time stands still: nobody is overdue
  GatedStore gate(memory->buckets());
  CoalescingBucketStore store(gate, scheduler);
  const TargetPtr target = TargetOf("acme", 100'000);
  std::atomic<int> asking = 4;
  std::atomic<std::int64_t> taken = 0;
  std::jthread answering([&] {
    while (asking > 0) gate.Release();
  });
  std::vector<std::jthread> threads;
  for (int i = 1; i <= 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 200; ++round) {
        const auto answer = Await<Decision>([&](Done<Decision> done) {
          store.Acquire(std::vector<Charge>{{target, {i * 1000}}}, kNow, Deadline::Never(),
                        std::move(done));
        });
        if (answer && answer->limits[0].requested == i * 1000) taken += i;
      }
      --asking;
    });
  }
  threads.clear();
  answering.join();
  EXPECT_EQ(taken, 200 * (1 + 2 + 3 + 4));
  EXPECT_LE(gate.asked().size(), 800U);
}

}  // namespace
}  // namespace weir
