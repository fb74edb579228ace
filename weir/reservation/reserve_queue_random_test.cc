#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "weir/reservation/reserve_queue.h"
#include "weir/reservation/testing/reserve_queue_fixture.h"

namespace weir {
namespace {

// Random traffic. Every step is checked against the rules of the queue.
class Traffic {
 public:
  void Run() {
    for (int i = 0; i < 150; ++i) {
      Act();
      Step();
    }
    Drain();
  }

 private:
  struct Waiter {
    AccountKey key;
    Instant until;
  };
  struct Known {
    int asking = 0;                ///< waiting requests that ask
    std::optional<Instant> quiet;  ///< no waiting request may ask before this time
    bool released = false;         ///< a slot was released since the last ask
  };

  const AccountKey& AnyKey() { return *rc::gen::inRange(0, 2) == 0 ? kA : kB; }

  void Act() {
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
      case 1:
        return Arrive();
      case 2:
        return Respond();
      case 3: {
        const AccountKey& key = AnyKey();
        queue_.OnReleased(key);
        known_[key].released = true;
        return;
      }
      default:
        now_ = now_ + milliseconds(*rc::gen::inRange(1, 900));
    }
  }

  void Arrive() {
    const AccountKey key = AnyKey();
    const bool waits = *rc::gen::inRange(0, 3) != 0;
    const Instant until =
        *rc::gen::inRange(0, 2) == 0 ? kForEver : now_ + milliseconds(*rc::gen::inRange(1, 5'000));
    const bool others =
        std::ranges::any_of(waiting_, [&](const auto& one) { return one.second.key == key; });
    const ReserveQueue::Id id = next_id_++;
    ReserveQueue::Request request{.id = id, .key = key, .limit = 3};
    if (waits) request.wait_until = until;
    const auto result = queue_.Add(request, now_);
    if (waits) {
      RC_ASSERT(result.verdict == Verdict::kWait);
      waiting_.emplace(id, Waiter{key, until});
    } else if (result.verdict == Verdict::kAsk) {
      RC_ASSERT(!others);
      asking_.emplace(id, key);
    } else {
      RC_ASSERT(result.verdict == Verdict::kRefuse);
      RC_ASSERT(result.known.retry_at > now_);
      RC_ASSERT(result.known.in_use >= 3);
    }
  }

  // Completes a try of one request: it is refused, or it got its slot.
  void Respond() {
    if (asking_.empty()) return;
    const auto at =
        std::next(asking_.begin(), *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(asking_)));
    const auto [id, key] = *at;
    asking_.erase(at);
    const bool waits = waiting_.contains(id);
    if (waits) --known_[key].asking;
    if (*rc::gen::inRange(0, 3) == 0) {
      queue_.Remove(id);
      if (waits) {
        waiting_.erase(id);
        known_[key].quiet.reset();
      }
      return;
    }
    const Instant expiry = now_ + milliseconds(*rc::gen::inRange(-100, 4'000));
    const auto result = queue_.OnRefused(id, {3, 3, expiry}, now_);
    if (!waits) {
      RC_ASSERT(result.verdict == Verdict::kRefuse);
    } else if (waiting_.at(id).until <= now_) {
      RC_ASSERT(result.verdict == Verdict::kRefuse);
      waiting_.erase(id);
    } else {
      RC_ASSERT(result.verdict == Verdict::kWait);
    }
    if (!waits) return;
    Known& known = known_[key];
    const Instant earliest = now_ + ReserveQueue::kShortestWait;
    known.quiet = expiry > now_ ? std::min(expiry, earliest) : earliest;
    if (known.released) known.quiet.reset();
  }

  void Step() {
    const auto step = queue_.Advance(now_);
    for (const auto& [id, known] : step.expired) {
      RC_ASSERT(waiting_.at(id).until <= now_);
      RC_ASSERT(!asking_.contains(id));
      waiting_.erase(id);
    }
    for (const ReserveQueue::Id id : step.asks) {
      const AccountKey& key = waiting_.at(id).key;
      for (const auto& [other, waiter] : waiting_) {
        RC_ASSERT(other >= id || waiter.key != key);  // no request is overtaken
      }
      Known& known = known_[key];
      RC_ASSERT(++known.asking == 1);
      if (known.quiet && !known.released) RC_ASSERT(now_ >= *known.quiet);
      known.released = false;
      asking_.emplace(id, key);
    }
    // The queue keeps no state of a key for which no request waits.
    for (auto& [key, known] : known_) {
      const auto waits = [&](const auto& one) { return one.second.key == key; };
      if (std::ranges::none_of(waiting_, waits)) known = {};
    }
    for (const auto& [id, waiter] : waiting_) {
      RC_ASSERT(waiter.until > now_ || asking_.contains(id));  // late requests have expired
    }
    RC_ASSERT(queue_.waiting() == waiting_.size());
    const auto next = queue_.NextWake();
    if (next) RC_ASSERT(*next > now_);  // Advance has done all work
    const bool idle = asking_.empty() && !waiting_.empty();
    if (!idle) return;
    RC_ASSERT(next.has_value());
    RC_ASSERT(*next <= now_ + ReserveQueue::kLongestWait);  // no request is lost
  }

  // If each try gets a slot, all requests end, in order.
  void Drain() {
    while (!waiting_.empty() || !asking_.empty()) {
      for (const auto& [id, key] : std::exchange(asking_, {})) {
        queue_.Remove(id);
        if (waiting_.erase(id) > 0) known_[key] = {};
      }
      if (const auto next = queue_.NextWake()) now_ = std::max(now_, *next);
      Step();
    }
    RC_ASSERT(!queue_.NextWake());
  }

  Instant now_{1'000'000'000'000};
  ReserveQueue queue_{{.full_for = milliseconds(*rc::gen::inRange(0, 6'000)),
                       .remembered = 10,
                       .max_waiting = 1'000,
                       .seed = *rc::gen::arbitrary<std::uint64_t>()}};
  ReserveQueue::Id next_id_ = 1;
  std::map<ReserveQueue::Id, Waiter> waiting_;
  std::map<ReserveQueue::Id, AccountKey> asking_;
  std::map<AccountKey, Known> known_;
};

RC_GTEST_PROP(ReserveQueueProperty, InOrderOneAtATimeNeitherTooSoonNorForgotten, ()) {
  Traffic().Run();
}

}  // namespace
}  // namespace weir
