// Real threads that compete for the same slots.
#include <atomic>
#include <barrier>
#include <thread>

#include "weir/runtime/await.h"
#include "weir/store/testing/reservation/reservation_contract.h"

namespace weir {
namespace {

using std::chrono_literals::operator""s;

// Runs `work(i)` on `count` threads at the same time, and waits for all of them.
template <class Work>
void OnThreads(int count, const Work& work) {
  std::barrier together(count);
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      together.arrive_and_wait();
      work(i);
    });
  }
}

// Fails if: counting the slots and storing a new one are two steps (rate-limiter-py gives 20 of 5).
TEST_P(ReservationContractThreads, AsManyGetASlotAsThereAre) {
  const auto other = harness_->AnotherClient();
  for (int round = 0; round < 20; ++round) {
    const AccountKey key = FreshKey();
    std::vector<SlotClaim> claims;
    for (int i = 0; i < 64; ++i) {
      claims.push_back({.slot = FreshSlot(key), .limit = 5, .ttl = kSlotLife});
    }
    std::atomic<int> admitted = 0;
    std::atomic<int> refused = 0;
    OnThreads(64, [&](int i) {
      ReservationBackend& backend = other && i % 2 == 1 ? *other : harness_->backend();
      const auto result = Await<ClaimResult>([&](Done<ClaimResult> done) {
        backend.slots().Claim(claims[static_cast<std::size_t>(i)], start_, Deadline::Never(),
                              std::move(done));
      });
      if (result) ++(result->slot ? admitted : refused);
    });
    EXPECT_EQ(admitted, 5);
    EXPECT_EQ(refused, 59) << "the rest failed";
    EXPECT_EQ(CountHeld(key, start_), 5U);
  }
}

// Fails if: a released slot goes to two claims, or to none.
TEST_P(ReservationContractThreads, SlotsChangeHandsOneByOne) {
  const auto other = harness_->AnotherClient();
  const AccountKey key = FreshKey();
  std::vector<std::vector<SlotRef>> slots(8);
  for (auto& of_thread : slots) {
    for (int i = 0; i < 20; ++i) of_thread.push_back(FreshSlot(key));
  }
  std::atomic<int> held = 0;
  std::atomic<int> most = 0;
  OnThreads(8, [&](int i) {
    ReservationBackend& backend = other && i % 2 == 1 ? *other : harness_->backend();
    for (const SlotRef& slot : slots[static_cast<std::size_t>(i)]) {
      const SlotClaim claim{.slot = slot, .limit = 3, .ttl = kSlotLife};
      const auto result = Await<ClaimResult>([&](Done<ClaimResult> done) {
        backend.slots().Claim(claim, start_, Deadline::Never(), std::move(done));
      });
      if (!result || !result->slot) continue;
      const int now_held = ++held;
      int before = most;
      while (before < now_held && !most.compare_exchange_weak(before, now_held)) continue;
      --held;
      const auto released = Await<bool>([&](Done<bool> done) {
        backend.slots().Release(slot, start_, Deadline::Never(), std::move(done));
      });
      EXPECT_EQ(released, true);
    }
  });
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 3);
  EXPECT_EQ(CountHeld(key, start_), 0U);
}

TEST_P(ReservationContractThreads, AsManyTokensAreTakenAsThereAre) {
  const auto other = harness_->AnotherClient();
  const AccountKey key = FreshKey();
  std::atomic<int> taken = 0;
  std::atomic<int> refused = 0;
  OnThreads(16, [&](int i) {
    ReservationBackend& backend = other && i % 2 == 1 ? *other : harness_->backend();
    for (int ask = 0; ask < 10; ++ask) {
      const auto result = Await<TokenResult>([&](Done<TokenResult> done) {
        backend.tokens().Take(key, {.limit = 100, .window = 10s}, 1, start_, Deadline::Never(),
                              std::move(done));
      });
      if (result) ++(result->taken ? taken : refused);
    }
  });
  EXPECT_EQ(taken, 100);
  EXPECT_EQ(refused, 60) << "the rest failed";
}

}  // namespace
}  // namespace weir
