// Processes of Weir on a bucket whose time another client has moved far ahead.
#include "weir/zae_table/testing/clock_ahead_fixture.h"

#include "weir/base/rng.h"

namespace weir::dynamo {
namespace {

class TimeSetBackTest : public ClockAheadTest {
 protected:
  /// A correct process and `other` each try to take a token every four seconds for an hour, from a
  /// limit of 10 an hour on a bucket of their own. Returns the number of tokens that were taken.
  template <class Other>
  std::int64_t TakenInAnHourBeside(Other other) {
    entity_ = fmt::format("of-hour-{}", ++buckets_);
    limit_.quota = {10'000, 10'000, 3'600'000};
    Process right(*this, 1);
    std::int64_t taken = 0;
    for (int i = 0; i < 900; ++i) {
      if (Takes(right, 1)) ++taken;
      if (other()) ++taken;
      Pass(std::chrono::seconds(4));
    }
    return taken;
  }
  int buckets_ = 0;

  /// Leaves the bucket empty, after another client has refilled it too early and moved `rf` an hour
  /// ahead. Refusals no longer rely on older images.
  void EmptyAnHourAhead(Process& process) {
    ASSERT_TRUE(Takes(process, 100));
    RefillAhead(std::chrono::hours(1));
    Pass(std::chrono::seconds(2));
    ASSERT_TRUE(Takes(process, 100)) << "the hour that has not passed fills the bucket once";
  }
};

// Fails if: a bucket gets no refill until T reaches its time.
TEST_F(TimeSetBackTest, ATimeThatIsFarAheadIsSetBackAfterAMinute) {
  Process right(*this, 1);
  EmptyAnHourAhead(right);
  EXPECT_FALSE(Takes(right, 1)) << "from here on the time is known to be ahead";
  Pass(std::chrono::seconds(59));
  EXPECT_FALSE(Takes(right, 1));
  Pass(std::chrono::seconds(2));
  EXPECT_TRUE(Takes(right, 10)) << "a second after the minute";
  EXPECT_FALSE(Takes(right, 11));
  EXPECT_FALSE(ReadBucket().contains(kAhead));
}

TEST_F(TimeSetBackTest, ARefusalSaysWhenATimeThatIsFarAheadIsSetBack) {
  Process right(*this, 1);
  EmptyAnHourAhead(right);
  const milliseconds wait = WaitOf(right, 10);
  EXPECT_GE(wait, std::chrono::seconds(60));
  EXPECT_LE(wait, std::chrono::seconds(60 + 1));
  Pass(wait);
  EXPECT_TRUE(Takes(right, 10)) << "so long, and no longer";
}

// Fails if: a mark counts although rf has moved since.
TEST_F(TimeSetBackTest, ATimeThatAnotherClientKeepsMovingIsNotSetBack) {
  Process right(*this, 1);
  std::int64_t taken = 0;
  UnixMillis latest{0};
  const auto drain = [&] {
    while (Takes(right, 10)) taken += 10;
    EXPECT_GE(StoredTime(), latest);
    latest = StoredTime();
  };
  drain();
  for (int i = 0; i < 30; ++i) {
    RefillAhead(std::chrono::hours(1));
    drain();
    Pass(std::chrono::seconds(10));
  }
  EXPECT_LE(taken, 100 + 100 + 10 * 300);
  EXPECT_GE(taken, 10 * 290) << "the other client refills it";
}

// Fails if: a process marks a time as ahead only because of its wall clock.
TEST_F(TimeSetBackTest, AProcessThatSeesNoDateSetsNothingBack) {
  limit_.quota.period = 60'000;
  Process right(*this, 1);
  Process blind(*this, 2, -std::chrono::hours(1), &server_);
  std::int64_t taken = 0;
  for (int i = 0; i < 60; ++i) {
    if (i % 10 == 0) {
      while (Takes(right, 5)) taken += 5;
    }
    while (Takes(blind, 5)) taken += 5;
    EXPECT_FALSE(ReadBucket().contains(kAhead));
    Pass(std::chrono::seconds(10));
  }
  EXPECT_LE(taken, 100 + 10 * 10);
  EXPECT_GE(taken, 100 + 500 / 6 - 5);
}

// Fails if: a write relies on a refill time that may have been set back since.
TEST_F(TimeSetBackTest, AnImageFromBeforeTheSetBackMintsNothing) {
  limit_.quota.period = 60'000;  // full after ten minutes, and kept for longer than an hour
  Process right(*this, 1);
  Process idle(*this, 2);
  ASSERT_TRUE(Takes(right, 1));
  RefillAhead(std::chrono::minutes(40));
  ASSERT_TRUE(Takes(idle, 1));
  Pass(std::chrono::seconds(2));
  EXPECT_FALSE(Takes(right, 100)) << "99 are left, and it is marked";
  Pass(std::chrono::seconds(60));
  EXPECT_FALSE(Takes(right, 100)) << "it is set back";
  EXPECT_LT(StoredTime(), scheduler_.clock().WallNow() + std::chrono::seconds(2));
  Pass(std::chrono::minutes(12));
  EXPECT_TRUE(Takes(right, 1));
  Pass(std::chrono::minutes(20));
  EXPECT_TRUE(Takes(idle, 90)) << "the bucket is full, and its image has 98";
  EXPECT_FALSE(Takes(right, 12)) << "10 are left";
}

// From a limit of 10 an hour, within an hour: 10 that were available, 10 that are due, 10 that come
// too early, and 10 for one set-back.
constexpr std::int64_t kMaxInAnHour = 40;

// A client that is ahead and still runs must not get the same refill every minute. Fails if: rf is
// set back again before the bucket could have been filled.
TEST_F(TimeSetBackTest, AClientThatIsAheadAndAtWorkMintsOneCapacityForEachTimeToFull) {
  for (const int many : {1, 2, 24}) {
    const auto ahead = std::chrono::hours(many);
    EXPECT_LE(TakenInAnHourBeside([&] { return TakesAsZae(1, ahead); }), kMaxInAnHour) << many;
  }
}

TEST_F(TimeSetBackTest, AProcessWithoutDatesThatIsAheadMintsOneCapacityForEachTimeToFull) {
  for (const int many : {1, 2, 24}) {
    Process blind(*this, 2, std::chrono::hours(many), &server_);
    EXPECT_LE(TakenInAnHourBeside([&] { return Takes(blind, 1); }), kMaxInAnHour) << many;
  }
}

TEST_F(TimeSetBackTest, AHostWhoseDateIsHoursBehindMintsOneCapacityForEachTimeToFull) {
  for (const int many : {1, 2, 3}) {
    DatingServer behind_host(server_, scheduler_.clock(), -std::chrono::hours(many));
    Process behind(*this, 2, milliseconds(0), &behind_host);
    EXPECT_LE(TakenInAnHourBeside([&] { return Takes(behind, 1); }), kMaxInAnHour) << many;
  }
}

// Fails if: a process sets back a time that is not ahead of its own.
TEST_F(TimeSetBackTest, AMarkOfAProcessThatIsBehindSetsNothingBack) {
  limit_.quota.period = 60'000;
  Process right(*this, 1);
  ASSERT_TRUE(Takes(right, 100));
  DatingServer behind_host(server_, scheduler_.clock(), -std::chrono::hours(1));
  Process behind(*this, 2, milliseconds(0), &behind_host);
  EXPECT_FALSE(Takes(behind, 1));
  ASSERT_TRUE(ReadBucket().contains(kAhead)) << "by its time the bucket is ahead";
  const UnixMillis stored = StoredTime();
  Pass(std::chrono::seconds(2));
  EXPECT_FALSE(Takes(right, 100));
  EXPECT_GE(StoredTime(), stored);
}

// Fails if: each process marks each rf of a client that keeps moving it.
TEST_F(TimeSetBackTest, AClientThatKeepsMovingTheTimeCausesFewMarks) {
  limit_.quota = {1'000, 1'000, 1'000};
  std::vector<std::unique_ptr<Process>> processes;
  for (std::uint64_t i = 0; i < 8; ++i)
    processes.push_back(std::make_unique<Process>(*this, i + 1));
  ASSERT_TRUE(Takes(*processes[0], 1));
  int marks = 0;
  std::optional<Value> mark;
  for (int second = 0; second < 60; ++second) {
    RefillAhead(std::chrono::hours(1));
    TakesAsZae(1, std::chrono::hours(1));
    for (const auto& process : processes) {
      Takes(*process, 1);
      const Item item = ReadBucket();
      const auto found = item.find(kAhead);
      if (found == item.end() || found->second == mark) continue;
      mark = found->second;
      ++marks;
    }
    Pass(std::chrono::seconds(1));
  }
  EXPECT_GE(marks, 1);
  EXPECT_LE(marks, 7) << "one in ten seconds";
}

// Fails if: a refusal promises that a time will be set back, and it is not.
TEST_F(TimeSetBackTest, WithoutADateTheWaitIsUntilTheStoredTime) {
  Process blind(*this, 1, milliseconds(0), &server_);
  Process right(*this, 2);
  ASSERT_TRUE(Takes(blind, 100));
  MoveAhead(std::chrono::hours(1));
  Pass(std::chrono::seconds(2));
  EXPECT_FALSE(Takes(right, 1)) << "it marks the time, and asks no more";
  Pass(std::chrono::seconds(61));
  EXPECT_LE(RefusalsUntil(blind, 10), 1);
}

TEST_F(TimeSetBackTest, ATimeThatIsLessThanTwoMinutesAheadIsSetBackAsWell) {
  Process right(*this, 1);
  ASSERT_TRUE(Takes(right, 100));
  MoveAhead(std::chrono::seconds(110));
  Pass(std::chrono::seconds(2));
  const UnixMillis refused = scheduler_.clock().WallNow();
  EXPECT_LE(RefusalsUntil(right, 10), 1);
  EXPECT_LE(scheduler_.clock().WallNow(), refused + std::chrono::seconds(60 + 2));
}

// Fails if: the mark waits until no other part is pending.
TEST_F(TimeSetBackTest, CorrectionsWithoutEndDoNotPutOffTheMark) {
  limit_.quota = {1'000, 10'000, 1'000};
  Process right(*this, 1);
  ASSERT_TRUE(Takes(right, 1));
  MoveAhead(std::chrono::hours(1));
  Pass(std::chrono::seconds(2));
  right.transport.faults.shortest_trip = milliseconds(3);
  right.transport.faults.longest_trip = milliseconds(4);
  const Charge correction{MakeTarget({entity_, "llm", 0}, {limit_}), {1}};
  const Charge take{correction.target, {1'000}};
  for (std::uint64_t i = 1; i <= 3'000; ++i) {
    right.store.Adjust({&correction, 1}, AdjustId{7, i}, right.store.Now(), Deadline::Never(),
                       [](const Status&) {});
    if (i % 200 == 0) {
      right.store.Acquire({&take, 1}, right.store.Now(), Deadline::Never(),
                          [](const Result<Decision>&) {});
    }
    Pass(milliseconds(1));
  }
  EXPECT_TRUE(ReadBucket().contains(kAhead));
  Pass(std::chrono::seconds(20));
}

TEST_F(TimeSetBackTest, AQuietBucketThatIsAheadIsNotDivided) {
  limit_.quota.capacity = 100'000'000;
  Process right(*this, 1);
  ASSERT_TRUE(Takes(right, 1));
  MoveAhead(std::chrono::hours(1));
  for (int i = 0; i < 3'700; ++i) {
    Takes(right, 1);
    Pass(std::chrono::seconds(1));
  }
  EXPECT_EQ(GetNumber(ReadBucket(), "shard_count"), 1);
}

// Fails if: writes on a bucket that is ahead exclude each other, although it has enough tokens.
TEST_F(TimeSetBackTest, ManyProcessesShareABucketThatIsAhead) {
  limit_.quota = {10'000'000'000, 10'000, 1'000};
  std::vector<std::unique_ptr<Process>> processes;
  for (std::uint64_t i = 0; i < 8; ++i)
    processes.push_back(std::make_unique<Process>(*this, i + 1));
  ASSERT_TRUE(Takes(*processes[0], 1));
  MoveAhead(std::chrono::seconds(45));
  for (const auto& process : processes) {
    ASSERT_TRUE(Takes(*process, 1));
    process->transport.faults.shortest_trip = milliseconds(2);
    process->transport.faults.longest_trip = milliseconds(3);
  }
  const Charge charge{MakeTarget({entity_, "llm", 0}, {limit_}), {10'000}};
  int admitted = 0;
  for (int i = 0; i < 500; ++i) {
    for (const auto& process : processes) {
      process->store.Acquire({&charge, 1}, process->store.Now(),
                             Deadline::After(scheduler_.clock(), milliseconds(200)),
                             [&](const Result<Decision>& decision) {
                               if (decision && decision->admitted) ++admitted;
                             });
    }
    Pass(milliseconds(1));
  }
  Pass(std::chrono::seconds(2));
  EXPECT_GE(admitted, 8 * 500 * 98 / 100);
}

// Random refills by a clock that is an hour ahead, and processes that take random amounts. Fails
// if: a refill ahead gives more than one capacity, or more than another one with its set-back; or
// if nothing is admitted for a minute and the rest of a mark.
TEST_F(TimeSetBackTest, RandomRefillsAheadGiveABoundedAmountAndHoldForAMinute) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    entity_ = fmt::format("of-seed-{}", seed);
    std::vector<std::unique_ptr<Process>> processes;
    for (std::uint64_t i = 0; i < 3; ++i) {
      processes.push_back(std::make_unique<Process>(*this, seed + i));
    }
    Rng rng(seed);
    ASSERT_TRUE(Takes(*processes[0], 1));
    std::int64_t taken = 1;
    std::int64_t refills = 0;
    int idle_seconds = 0;
    const UnixMillis began = scheduler_.clock().WallNow();
    for (int second = 0; second < 600; ++second) {
      Process& process = *processes[rng.Below(3)];
      const auto tokens = static_cast<std::int64_t>(1 + rng.Below(60));
      const bool passes = Takes(process, tokens);
      if (passes) taken += tokens;
      idle_seconds = passes ? 0 : idle_seconds + 1;
      ASSERT_LE(idle_seconds, 60 + 10 + 6 + 2) << "after " << second << " s";
      if (rng.Below(150) == 0) {
        RefillAhead(std::chrono::hours(1));
        ++refills;
      }
      Pass(std::chrono::seconds(1));
      const milliseconds elapsed = scheduler_.clock().WallNow() - began;
      ASSERT_LE(taken, 100 * (1 + 2 * refills) + 10 * elapsed.count() / 1000 + 1);
    }
  }
}

}  // namespace
}  // namespace weir::dynamo
