// Many threads on one limiter of slots, with real threads below it. No test depends on their speed.
#include "weir/reservation/reservation_limiter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weir/reservation/token_limiter.h"
#include "weir/runtime/await.h"
#include "weir/runtime/loop.h"
#include "weir/store/memory/memory_reservations.h"

namespace weir {
namespace {

/// Slots, limits and tokens in memory. Runs calls and callbacks on a thread of its own.
class LoopReservations final : public ReservationBackend,
                               public ReservationStore,
                               public AccountLimitStore,
                               public TokenStore {
 public:
  explicit LoopReservations(const Clock& clock) : loop_(clock) {}

  ReservationStore& slots() override { return *this; }
  AccountLimitStore& limits() override { return *this; }
  TokenStore& tokens() override { return *this; }
  std::string Describe() const override { return "loop"; }
  std::optional<UnixMillis> OwnTime() const override { return memory_->OwnTime(); }

  void Claim(const SlotClaim& claim, UnixMillis now, Deadline deadline,
             Done<ClaimResult> done) override {
    Run([this, claim, now,
         deadline](auto next) { memory_->slots().Claim(claim, now, deadline, std::move(next)); },
        std::move(done));
  }
  void Bind(const SlotRef& slot, const std::string& id, milliseconds ttl, UnixMillis now,
            Deadline deadline, Done<HeldSlot> done) override {
    Run([this, slot, id, ttl, now, deadline](
            auto next) { memory_->slots().Bind(slot, id, ttl, now, deadline, std::move(next)); },
        std::move(done));
  }
  void Renew(const SlotRef& slot, milliseconds ttl, UnixMillis now, Deadline deadline,
             Done<HeldSlot> done) override {
    Run([this, slot, ttl, now, deadline](
            auto next) { memory_->slots().Renew(slot, ttl, now, deadline, std::move(next)); },
        std::move(done));
  }
  void Release(const SlotRef& slot, UnixMillis now, Deadline deadline, Done<bool> done) override {
    Run([this, slot, now,
         deadline](auto next) { memory_->slots().Release(slot, now, deadline, std::move(next)); },
        std::move(done));
  }
  void ReleaseUnbound(const SlotRef& slot, UnixMillis now, Deadline deadline,
                      Done<bool> done) override {
    Run([this, slot, now, deadline](
            auto next) { memory_->slots().ReleaseUnbound(slot, now, deadline, std::move(next)); },
        std::move(done));
  }
  void ReleaseResource(const EndedResource& ended, UnixMillis now, Deadline deadline,
                       Done<std::size_t> done) override {
    Run([this, ended, now, deadline](
            auto next) { memory_->slots().ReleaseResource(ended, now, deadline, std::move(next)); },
        std::move(done));
  }
  void List(const AccountKey& key, const PageRequest& page, UnixMillis now, Deadline deadline,
            Done<Page<HeldSlot>> done) override {
    Run([this, key, page, now,
         deadline](auto next) { memory_->slots().List(key, page, now, deadline, std::move(next)); },
        std::move(done));
  }
  void Get(const AccountKey& key, Deadline deadline,
           Done<std::optional<AccountLimitRow>> done) override {
    Run([this, key, deadline](auto next) { memory_->limits().Get(key, deadline, std::move(next)); },
        std::move(done));
  }
  void KeysOfService(const std::string& service, Deadline deadline,
                     Done<std::vector<AccountKey>> done) override {
    Run([this, service, deadline](
            auto next) { memory_->limits().KeysOfService(service, deadline, std::move(next)); },
        std::move(done));
  }
  void Change(const AccountLimitChange& change, Deadline deadline, Done<void> done) override {
    Run([this, change,
         deadline](auto next) { memory_->limits().Change(change, deadline, std::move(next)); },
        std::move(done));
  }
  void Take(const AccountKey& key, const AccountLimit& limit, std::int64_t count, UnixMillis now,
            Deadline deadline, Done<TokenResult> done) override {
    Run(
        [this, key, limit, count, now, deadline](auto next) {
          memory_->tokens().Take(key, limit, count, now, deadline, std::move(next));
        },
        std::move(done));
  }

 private:
  template <class Call, class T>
  void Run(Call call, Done<T> done) {
    loop_.Post(
        [call = std::move(call), done = std::move(done)]() mutable { call(std::move(done)); });
  }

  const std::unique_ptr<ReservationBackend> memory_ = MakeMemoryReservations();
  Loop loop_;
};

void OnThreads(int threads, const std::function<void()>& run) {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(run);
  for (std::thread& thread : all) thread.join();
}

TEST(ReservationLimiterThreads, NeverMoreAtOnceThanTheLimitAndEverybodyGetsHisTurn) {
  constexpr int kThreads = 6;
  constexpr int kEach = 200;
  const SystemClock clock;
  LoopReservations store(clock);
  Loop loop(clock);
  ReservationLimiter limiter(store, loop);
  std::atomic<int> holders = 0;
  std::atomic<int> most = 0;
  std::atomic<int> turns = 0;
  OnThreads(kThreads, [&] {
    for (int i = 0; i < kEach; ++i) {
      auto outcome =
          limiter.Reserve({.resource = "emr", .account = "acme", .default_limit = 3, .wait = true},
                          Deadline::Never());
      ASSERT_TRUE(outcome && outcome->reserved());
      Reservation reservation = std::move(*outcome).reservation();
      const int now = ++holders;
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
      ++turns;
      const bool by_hand = i % 2 == 0;
      EXPECT_TRUE(!by_hand || reservation.Bind("j-1"));
      --holders;
      EXPECT_TRUE(!by_hand || reservation.Release());
    }
  });
  EXPECT_EQ(turns, kThreads * kEach);
  EXPECT_LE(most, 3);
  EXPECT_EQ(limiter.stats().waiting, 0U);
  // The store runs its calls in order: releases that were not waited for are before this one.
  const auto held = Await<Page<HeldSlot>>([&](auto done) {
    store.List({"emr", "acme"}, {}, clock.WallNow(), Deadline::Never(), std::move(done));
  });
  EXPECT_TRUE(held->items.empty());
}

TEST(ReservationLimiterThreads, ClosingAnswersThoseWhoWait) {
  constexpr int kWaiters = 5;
  std::atomic<int> results = 0;  // outlives the threads that use it
  const SystemClock clock;
  LoopReservations store(clock);
  Loop loop(clock);
  for (int round = 1; round <= 50; ++round) {
    std::optional<ReservationLimiter> limiter(std::in_place, store, loop);
    for (int i = 0; i < kWaiters; ++i) {
      limiter->Reserve({.resource = "emr", .account = "acme", .wait = true, .limit = 1},
                       Deadline::Never(), [&](const Result<ReserveOutcome>& outcome) {
                         EXPECT_TRUE(outcome || outcome.error().code == Code::kCancelled);
                         ++results;
                         results.notify_all();
                       });
    }
    limiter.reset();
    for (int seen = results; seen < round * kWaiters; seen = results) results.wait(seen);
  }
  EXPECT_EQ(results, 50 * kWaiters);
}

TEST(TokenLimiterThreads, NoMoreAreTakenThanThereAre) {
  const SystemClock clock;
  LoopReservations store(clock);
  Loop loop(clock);
  TokenLimiter limiter(store, loop);
  std::atomic<int> taken = 0;
  OnThreads(6, [&] {
    for (int i = 0; i < 200; ++i) {
      const auto outcome = limiter.Take({.resource = "emr",
                                         .account = "acme",
                                         .default_limit = 100,
                                         .default_window = std::chrono::hours(24 * 366)},
                                        Deadline::Never());
      ASSERT_TRUE(outcome);
      taken += outcome->taken ? 1 : 0;
    }
  });
  EXPECT_EQ(taken, 100);
}

}  // namespace
}  // namespace weir
