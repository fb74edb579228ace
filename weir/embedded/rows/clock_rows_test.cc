#include "weir/embedded/rows/clock_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/embedded/reservation/file_reservations.h"
#include "weir/embedded/testing/embedded_records_fixture.h"
#include "weir/store/testing/reservation/reservation_contract_client.h"

namespace weir {
namespace {

using std::chrono::days;
using std::chrono::hours;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const BootIdentity kBoot{.boot = "7a1c", .time_namespace = "time:[1]"};
const BootIdentity kNextBoot{.boot = "7a1d", .time_namespace = "time:[1]"};
constexpr milliseconds kLongAgo = days(37 * 365);

TEST(BootIdentity, OfThisMachineIsKnownAndDoesNotChange) {
  const BootIdentity now = ReadBootIdentity();
  EXPECT_NE(now.boot, "");
  EXPECT_TRUE(IsSameBoot(now, ReadBootIdentity()));
}

TEST(BootIdentity, AnUnknownBootIsLikeNoOther) {
  EXPECT_FALSE(IsSameBoot({}, {}));
  EXPECT_FALSE(IsSameBoot(kBoot, kNextBoot));
  EXPECT_FALSE(IsSameBoot(kBoot, {kBoot.boot, "time:[2]"}));
}

class FileClockTest : public EmbeddedTest {
 protected:
  void Open(const BootIdentity& boot = kBoot) { ASSERT_TRUE(client_.Open({.boot = boot})); }
  void Reopen(const BootIdentity& boot = kBoot) {
    ASSERT_TRUE(client_.Close());
    Open(boot);
  }
  UnixMillis Time() { return client_.backend().buckets().Now(); }
  sim::SimClock& clock() { return client_.scheduler().sim_clock(); }
  void SetWall(milliseconds error) { clock().SetWall(start_ + error); }

  const UnixMillis start_ = client_.now();
};

TEST_F(FileClockTest, EveryProcessOfABootHasTheSameTime) {
  Open();
  EXPECT_EQ(Time(), start_);
  for (const milliseconds error : {milliseconds(hours(1)), milliseconds(hours(-1)), kLongAgo}) {
    SetWall(error);
    EXPECT_EQ(Time(), start_);
    Reopen();
    EXPECT_EQ(Time(), start_);
  }
}

TEST_F(FileClockTest, ANewBootStartsAtItsWallTime) {
  Open();
  SetWall(hours(1));
  clock().Reboot();
  Reopen(kNextBoot);
  EXPECT_EQ(Time(), start_ + hours(1));
}

TEST_F(FileClockTest, AFileOfAnEarlierWeirStartsAtTheWallTime) {
  Open();
  ASSERT_TRUE(client_.Close());
  RunSql(client_.path(), "DELETE FROM clock");
  SetWall(hours(1));
  Open();
  EXPECT_EQ(Time(), start_ + hours(1));
}

class FileClockSweepTest : public FileClockTest {
 protected:
  /// Takes all tokens of a limit of 60 a minute. Returns true if they are admitted.
  bool TakeSixty(const std::string& entity) {
    const std::vector<Charge> charges{
        Take(MakeTarget({entity, "llm", 0}, {{"rpm", PerMinute(60)}}), 60)};
    BucketStore& store = client_.backend().buckets();
    bool admitted = false;
    store.Acquire(charges, store.Now(), Deadline::Never(), [&](const Result<Decision>& decision) {
      ASSERT_TRUE(decision);
      admitted = decision->admitted;
    });
    return admitted;
  }
  /// Waits long enough for a commit, and for the sweep after it.
  void Idle() { client_.scheduler().Advance(std::chrono::seconds(5)); }
};

// Fails if: buckets are swept by the latest time that any clock has shown (C3: 240 tokens were
// admitted instead of 66).
TEST_F(FileClockSweepTest, C3AfterTheClockIsSetBackIdleSecondsForgetNothing) {
  Open();
  EXPECT_TRUE(TakeSixty("acme"));
  SetWall(hours(1));
  Idle();
  EXPECT_FALSE(TakeSixty("acme"));
  SetWall({});
  for (int i = 0; i < 8; ++i) {
    Idle();
    EXPECT_FALSE(TakeSixty("acme")) << i;
  }
}

// Fails if: buckets are swept by the latest time of a bucket, which a wrong clock may have written.
TEST_F(FileClockSweepTest, C3ABucketThatIsAheadMakesNoOtherOneFull) {
  SetWall(hours(1));
  Open();
  EXPECT_TRUE(TakeSixty("ahead"));
  SetWall({});
  clock().Reboot();
  Reopen(kNextBoot);
  EXPECT_TRUE(TakeSixty("acme"));
  Idle();
  EXPECT_FALSE(TakeSixty("acme"));
}

class FileClockAuditTest : public FileClockTest {
 protected:
  /// Runs one command: a process opens the file, changes something, and closes it.
  void Change(const std::string& name, const BootIdentity& boot = kBoot) {
    Open(boot);
    EXPECT_TRUE(client_.Apply({CreateEntity{{.entity = {.id = name}}}}));
    EXPECT_TRUE(client_.Close());
  }
  std::vector<std::string> Subjects() {
    return RunSql(client_.path(), "SELECT subject FROM audit ORDER BY number");
  }
};

// Fails if: expiry follows the clock (C4: five events became one).
TEST_F(FileClockAuditTest, C4AClockThatIsAheadForAMomentCostsNoEvent) {
  Change("a");
  Change("b");
  SetWall(2 * kLongAgo);
  Change("c", kNextBoot);
  SetWall({});
  Change("d", kBoot);
  EXPECT_THAT(Subjects(), ElementsAre("a", "b", "c", "d"));
}

// Fails if: an event expires by its own time, which is that of a clock that was behind, or by the
// wall clock.
TEST_F(FileClockAuditTest, AnEventOfAClockThatWasBehindIsKeptForItsTime) {
  Change("a");
  const UnixMillis truth = client_.now();
  clock().SetWall(truth - kLongAgo);
  Change("b", kNextBoot);
  clock().SetWall(truth);
  Open(kBoot);
  for (int day = 0; day < 85; ++day) {
    client_.scheduler().Advance(days(1));
    ASSERT_TRUE(client_.Apply({CreateEntity{{.entity = {.id = "day-" + std::to_string(day)}}}}));
  }
  ASSERT_TRUE(client_.Close());
  EXPECT_THAT(Subjects(), SizeIs(87));
}

TEST_F(FileClockAuditTest, WhatWasWrittenFirstGoesBeyondTheMostThatAreKept) {
  Change("a");
  Change("b");
  RunSql(client_.path(), "UPDATE audit SET number = number - 100000 WHERE subject = 'a'");
  Change("c");
  EXPECT_THAT(Subjects(), ElementsAre("b", "c"));
}

// Fails if: each process has its own base, or an expiry follows the wall clock.
TEST(FileReservationClock, NoLiveSlotIsGivenAwayWithinABoot) {
  TempFolder folder;
  sim::SimClock clock;
  const UnixMillis start = clock.WallNow();
  const std::string path = folder / "weir.db";
  const AccountKey key{"emr", "acme"};
  int claims = 0;
  // Each claim is one command, under a wall clock with this error.
  const auto claim = [&](milliseconds error) {
    clock.SetWall(start + error);
    auto backend = OpenFileReservations(path, clock, {.boot = kBoot});
    EXPECT_TRUE(backend) << backend.error().message;
    ReservationClient client(**backend, [] { return false; });
    const SlotClaim wanted{.slot = {.key = key, .id = "w-" + std::to_string(++claims)},
                           .limit = 1,
                           .ttl = std::chrono::minutes(10)};
    const auto result = client.Claim(wanted, (*backend)->Now(clock));
    EXPECT_TRUE(result) << result.error().message;
    return result && result->slot.has_value();
  };
  EXPECT_TRUE(claim(hours(-1)));
  EXPECT_FALSE(claim({}));
  EXPECT_FALSE(claim(hours(1)));
  EXPECT_FALSE(claim(2 * kLongAgo));
  clock.Advance(std::chrono::minutes(10) - milliseconds(1));
  EXPECT_FALSE(claim(hours(5)));
  clock.Advance(milliseconds(1));
  EXPECT_TRUE(claim(hours(-5))) << "and it is free at its expiry";
}

// Fails if: slots of a boot under a wrong clock are held until the time of that clock.
TEST(FileReservationClock, C4SlotsOfAWrongBootAreHeldForTheirTimeOnly) {
  TempFolder folder;
  sim::SimClock clock;
  const UnixMillis start = clock.WallNow();
  int claims = 0;
  const auto claim = [&](const BootIdentity& boot) {
    auto backend = OpenFileReservations(folder / "weir.db", clock, {.boot = boot});
    EXPECT_TRUE(backend) << backend.error().message;
    ReservationClient client(**backend, [] { return false; });
    const SlotClaim wanted{.slot = {{"emr", "acme"}, "w-" + std::to_string(++claims)},
                           .limit = 2,
                           .ttl = std::chrono::minutes(10)};
    return *client.Claim(wanted, (*backend)->Now(clock));
  };
  clock.SetWall(start + 2 * kLongAgo);
  EXPECT_TRUE(claim(kBoot).slot);
  EXPECT_TRUE(claim(kBoot).slot);
  clock.Reboot();
  clock.SetWall(start);
  EXPECT_EQ(claim(kNextBoot).next_expiry, start + std::chrono::minutes(10));
  clock.Advance(std::chrono::minutes(10) - milliseconds(1));
  EXPECT_FALSE(claim(kNextBoot).slot);
  clock.Advance(milliseconds(1));
  EXPECT_TRUE(claim(kNextBoot).slot);
}

TEST(FileReservationClock, AProcessThatWasOpenBeforeTheFileWasThereTakesItsTime) {
  TempFolder folder;
  sim::SimClock right;
  sim::SimClock wrong;
  wrong.SetWall(wrong.WallNow() + hours(1));
  const std::string path = folder / "weir.db";
  auto late = *OpenFileReservations(path, wrong, {.boot = kBoot});
  auto first = *OpenFileReservations(path, right, {.boot = kBoot});
  ReservationClient early_client(*first, [] { return false; });
  ReservationClient late_client(*late, [] { return false; });
  const AccountKey key{"emr", "acme"};
  const SlotClaim claim{.slot = {.key = key, .id = "w-1"}, .limit = 1, .ttl = hours(1)};
  ASSERT_TRUE(early_client.Claim(claim, first->Now(right)));
  const SlotClaim other{.slot = {.key = key, .id = "w-2"}, .limit = 1, .ttl = hours(1)};
  const auto refused = late_client.Claim(other, late->Now(wrong));
  ASSERT_FALSE(refused) << "its time was of another clock";
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  const auto again = late_client.Claim(other, late->Now(wrong));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->slot);
  EXPECT_EQ(late->Now(wrong), first->Now(right));
}

}  // namespace
}  // namespace weir
