// Claims slots on command, from many threads at once. It is one of several processes that together
// want more slots than there are.
//
//     slots_driver URL RESOURCE ACCOUNT LIMIT THREADS
//
// Reads one command per line and replies with one line. On `claim` every thread claims once; the
// reply `held N` has the number of slots that are held. On `release` all slots are released;
// the reply `released N` has the number of slots that were still held.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "weir/backends/open.h"
#include "weir/backends/open_reservations.h"
#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/runtime/await.h"

namespace weir {
namespace {

constexpr std::chrono::seconds kWait{60};
constexpr milliseconds kTtl{300'000};

[[noreturn]] void Give(const std::string& message) {
  std::cerr << "slots_driver: " << message << '\n';
  std::exit(1);
}

class Claimants {
 public:
  Claimants(ReservationStore& store, AccountKey key, std::int64_t limit)
      : store_(store), key_(std::move(key)), limit_(limit) {}

  std::size_t ClaimAll(int threads) {
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i) running.emplace_back([this] { Claim(); });
    for (std::thread& thread : running) thread.join();
    const MutexLock lock(mutex_);
    return held_.size();
  }

  std::size_t ReleaseAll() {
    std::vector<std::string> ids;
    {
      const MutexLock lock(mutex_);
      ids.swap(held_);
    }
    std::size_t released = 0;
    for (const std::string& id : ids) {
      const auto was_held = Await<bool>([&](auto done) {
        store_.Release({key_, id}, clock_.WallNow(), Deadline::After(clock_, kWait),
                       std::move(done));
      });
      if (!was_held) Give(was_held.error().message);
      if (*was_held) ++released;
    }
    return released;
  }

 private:
  void Claim() {
    const SlotClaim claim{
        .slot = {key_, NewSlotId(SystemSeed(), SystemSeed())}, .limit = limit_, .ttl = kTtl};
    const auto result = Await<ClaimResult>([&](auto done) {
      store_.Claim(claim, clock_.WallNow(), Deadline::After(clock_, kWait), std::move(done));
    });
    if (!result) Give(result.error().message);
    if (!result->slot) return;
    const MutexLock lock(mutex_);
    held_.push_back(claim.slot.id);
  }

  SystemClock clock_;
  ReservationStore& store_;
  const AccountKey key_;
  const std::int64_t limit_;
  Mutex mutex_;
  std::vector<std::string> held_ WEIR_GUARDED_BY(mutex_);
};

int Drive(char** words) {
  const SystemClock clock;
  const auto backend = OpenReservations(words[1], clock, ProcessEnvironment());
  if (!backend) Give(backend.error().message);
  Claimants claimants((*backend)->slots(), {words[2], words[3]}, std::atoll(words[4]));
  std::string command;
  while (std::getline(std::cin, command)) {
    if (command == "claim") {
      fmt::print("held {}\n", claimants.ClaimAll(std::atoi(words[5])));
    } else if (command == "release") {
      fmt::print("released {}\n", claimants.ReleaseAll());
    } else {
      Give(fmt::format("unknown command {}", command));
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  if (argc == 6) return weir::Drive(argv);
  std::cerr << "usage: slots_driver URL RESOURCE ACCOUNT LIMIT THREADS\n";
  return 2;
}
