#include "weir/sim/sim_scheduler.h"

#include <algorithm>

#include "weir/bucket/known_hash_secret.h"

namespace weir::sim {
namespace {

// Runs before main, so that a program with a simulation hashes every name with the known secret.
[[maybe_unused]] const bool is_secret_known = (UseKnownHashSecret(), true);

}  // namespace

void SimClock::Advance(nanoseconds d) {
  now_ = now_ + d;
  boot_ += d;
  AdvanceWall(d);
}

void SimClock::Suspend(nanoseconds d, bool is_counted) {
  if (is_counted) {
    now_ = now_ + d;
    boot_ += d;
    suspended_ += d;
  }
  AdvanceWall(d);
}

void SimClock::AdvanceWall(nanoseconds d) {
  wall_rest_ += d;
  const auto whole = std::chrono::floor<milliseconds>(wall_rest_);
  wall_ = wall_ + whole;
  wall_rest_ -= whole;
}

void SimClock::SetWall(UnixMillis wall) {
  wall_ = wall;
  wall_rest_ = nanoseconds(0);
}

SimScheduler::~SimScheduler() {
  // The destructor of a task's state may schedule or cancel tasks.
  while (!tasks_.empty()) {
    const auto tasks = std::exchange(tasks_, {});
    keys_.clear();
  }
}

void SimScheduler::Post(Task task) { At(clock_.Now(), std::move(task)); }

TimerId SimScheduler::At(Instant when, Task task) {
  const TimerId id{next_id_++};
  Key key(when, std::to_underlying(id));
  if (shuffle_) {
    do key.second = rng_.Next();
    while (tasks_.contains(key));
  }
  tasks_.emplace(key, std::pair(id, std::move(task)));
  keys_.emplace(id, key);
  return id;
}

bool SimScheduler::Cancel(TimerId id) {
  const auto found = keys_.find(id);
  if (found == keys_.end()) return false;
  const auto cancelled = tasks_.extract(found->second);
  keys_.erase(found);
  return true;
}

std::size_t SimScheduler::RunReady() {
  std::size_t ran = 0;
  while (IsDue(clock_.Now()) && RunNext()) ++ran;
  return ran;
}

bool SimScheduler::RunNext() {
  if (tasks_.empty()) return false;
  auto next = tasks_.extract(tasks_.begin());
  keys_.erase(next.mapped().first);
  clock_.Advance(std::max(next.key().first - clock_.Now(), nanoseconds(0)));
  next.mapped().second();
  return true;
}

void SimScheduler::Advance(nanoseconds d) {
  const Instant until = clock_.Now() + d;
  while (IsDue(until)) RunNext();
  clock_.Advance(until - clock_.Now());
}

bool SimScheduler::RunAll(std::size_t most) {
  for (std::size_t ran = 0; ran < most; ++ran) {
    if (!RunNext()) return true;
  }
  return tasks_.empty();
}

}  // namespace weir::sim
