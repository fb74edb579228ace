// C12: reservations in a file do not block their callers, and no call overtakes another.
#include "weir/embedded/reservation/queued_reservations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "weir/embedded/reservation/file_reservations.h"
#include "weir/embedded/testing/embedded_fixture.h"
#include "weir/embedded/testing/faulty_vfs.h"
#include "weir/runtime/await.h"
#include "weir/runtime/loop.h"
#include "weir/store/memory/memory_reservations.h"

namespace weir {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr UnixMillis kFirst{1'767'225'600'000};

SlotClaim ClaimOf(const std::string& id) {
  return {.slot = {.key = kAccount, .id = id}, .limit = 2, .ttl = 60s};
}

// Runs in simulated time, in memory; the tests step the worker and the timers.
class QueuedReservationsTest : public testing::Test {
 protected:
  void Claim(const std::string& id, Deadline deadline) {
    queued_->slots().Claim(ClaimOf(id), kFirst, deadline, [this, id](auto result) {
      log_.push_back(id + (result ? result->slot ? " held" : " refused" : " late"));
      if (!result) messages_.push_back(result.error().message);
    });
  }
  Deadline In(milliseconds wait) const { return Deadline::After(timers_.clock(), wait); }

  sim::SimScheduler worker_;
  sim::SimScheduler timers_;
  std::unique_ptr<ReservationBackend> queued_ =
      QueueReservations(MakeMemoryReservations(), worker_, timers_, {.max_waiting = 3});
  std::vector<std::string> log_;
  std::vector<std::string> messages_;
};

TEST_F(QueuedReservationsTest, C12VerbsAreMadeInTheOrderInWhichTheyCame) {
  for (const char* const id : {"w-1", "w-2", "w-3"}) Claim(id, In(1s));
  EXPECT_THAT(log_, ElementsAre()) << "no caller waits";
  worker_.RunReady();
  EXPECT_THAT(log_, ElementsAre("w-1 held", "w-2 held", "w-3 refused"));
  EXPECT_EQ(timers_.pending(), 0U);
}

// Fails if: a call is made although it has completed as not made.
TEST_F(QueuedReservationsTest, C12AVerbWhoseTurnDoesNotComeInTimeIsNotMade) {
  Claim("w-1", In(10ms));
  Claim("w-2", In(20ms));
  timers_.Advance(10ms);
  EXPECT_THAT(log_, ElementsAre("w-1 late"));
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("before anything was done")));
  worker_.RunReady();
  Claim("w-3", In(10ms));
  worker_.RunReady();
  EXPECT_THAT(log_, ElementsAre("w-1 late", "w-2 held", "w-3 held")) << "of two slots";
}

// C4. Fails if: the time follows the wall clock, and live slots expire when that is set.
TEST(QueuedReservationsTime, C4ItIsThatOfTheReservationsInTheQueue) {
  sim::SimScheduler scheduler;
  sim::SimClock& clock = scheduler.sim_clock();
  const auto queued = QueueReservations(MakeMemoryReservations(&clock), scheduler, scheduler);
  const UnixMillis before = queued->Now(clock);
  clock.SetWall(before + std::chrono::hours(1));
  EXPECT_EQ(queued->Now(clock), before);
}

TEST_F(QueuedReservationsTest, C12AtMostSoManyWait) {
  for (const char* const id : {"w-1", "w-2", "w-3", "w-4"}) Claim(id, Deadline::Never());
  EXPECT_THAT(log_, ElementsAre("w-4 late"));
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("too many calls wait for the file (3)")));
  worker_.RunReady();
  Claim("w-5", Deadline::Never());
  worker_.RunReady();
  EXPECT_THAT(log_, ElementsAre("w-4 late", "w-1 held", "w-2 held", "w-3 refused", "w-5 refused"))
      << "there is room again";
}

// Runs on a file whose disk hangs; the worker is a thread.
class HangingReservationsTest : public testing::Test {
 protected:
  Deadline In(milliseconds wait) const { return Deadline::After(timers_.clock(), wait); }

  TempFolder folder_;
  FaultyVfs disk_{"hanging disk"};
  sim::SimScheduler timers_;
  SystemClock clock_;
  std::unique_ptr<ReservationBackend> queued_;
};

// Fails if: a caller waits for the disk, or its call does not complete at its deadline.
TEST_F(HangingReservationsTest, C12ADiskThatHangsBlocksNoCallerAndKeepsNoDeadline) {
  Loop worker(clock_);
  queued_ = QueueReservations(
      *OpenFileReservations(folder_ / "weir.db", timers_.clock(), {.vfs = disk_.name()}), worker,
      timers_);
  const auto claim = [&](const std::string& id, Deadline deadline, Done<ClaimResult> done) {
    queued_->slots().Claim(ClaimOf(id), kFirst, deadline, std::move(done));
  };
  ASSERT_TRUE(
      Await<ClaimResult>([&](auto done) { claim("w-1", Deadline::Never(), std::move(done)); }));
  disk_.HoldSyncs();
  std::vector<std::string> messages;
  const auto note = [&](const auto& result) { messages.push_back(result.error().message); };
  claim("w-2", In(100ms), note);
  disk_.AwaitHeldSync();
  claim("w-3", In(100ms), note);
  timers_.Advance(100ms);
  EXPECT_THAT(messages,
              ElementsAre(HasSubstr("may take effect"), HasSubstr("before anything was done")));
  disk_.ReleaseSyncs();
  const auto held = Await<Page<HeldSlot>>([&](auto done) {
    queued_->slots().List(kAccount, {}, kFirst, Deadline::Never(), std::move(done));
  });
  ASSERT_TRUE(held);
  EXPECT_EQ(held->items.size(), 2U) << "the second claim counts, the third was not made";
}

}  // namespace
}  // namespace weir
