#include "tests/simulation/release_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "weir/rate_limiter_py/slots/slot_item.h"

namespace weir::simulation {
namespace {

/// A slot of a job, from its binding on.
struct BoundSlot {
  std::string id;
  std::string job;
  UnixMillis claimed;  ///< 1970 for a slot of rate-limiter-py's client
  UnixMillis bound;
  std::optional<UnixMillis> freed{};
};

std::string TextIn(const sim::Item& item, std::string_view name) {
  const auto at = item.find(std::string(name));
  const auto* text = at == item.end() ? nullptr : at->second.As<std::string>();
  return text == nullptr ? "" : *text;
}

std::int64_t NumberIn(const sim::Item& item, std::string_view name) {
  const auto at = item.find(std::string(name));
  const auto* number = at == item.end() ? nullptr : at->second.As<sim::Decimal>();
  return number == nullptr ? 0 : number->ToInt64().value_or(0);
}

/// Collects, for each slot of a job, the times of its binding and its release.
class BoundSlots {
 public:
  void See(const sim::StreamRecord& record) {
    using namespace rate_limiter_py;
    const std::string id = TextIn(record.key, kReservationId);
    const auto known = open_.find(id);
    if (known != open_.end()) {
      if (record.after) return;
      slots_[known->second].freed = record.at;
      open_.erase(known);
      return;
    }
    if (!record.after || TextIn(*record.after, kResourceName) != kJobs) return;
    const std::string job = TextIn(*record.after, kResourceId);
    if (job.empty() || job == id) return;
    open_[id] = slots_.size();
    slots_.push_back({id, job, {NumberIn(*record.after, kClaimed)}, record.at});
  }
  const std::vector<BoundSlot>& all() const { return slots_; }

 private:
  std::vector<BoundSlot> slots_;
  std::map<std::string, std::size_t> open_;
};

/// An event has its time in whole seconds, so the end is at any instant of that second.
UnixMillis EndOfSecond(UnixMillis at) { return {at.value / 1000 * 1000 + 999}; }

class ReleaseOracle {
 public:
  ReleaseOracle(const std::vector<BoundSlot>& slots, const SlotEvents& events)
      : slots_(slots), events_(events) {
    for (const JobEnd& end : events.ends()) {
      ends_of_[end.job].push_back(&end);
      by_event_[end.event] = &end;
    }
  }

  void CheckSlots() {
    for (const BoundSlot& slot : slots_) {
      const std::vector<const JobEnd*>& ends = ends_of_[slot.job];
      const bool ended =
          std::ranges::any_of(ends, [&](const JobEnd* end) { return slot.claimed <= end->at; });
      if (ended && !slot.freed) {
        Break("slot {} is held in the end: claimed at {}, bound to {} at {}", slot.id,
              slot.claimed.value, slot.job, slot.bound.value);
      }
      const bool may_be_free = std::ranges::any_of(ends, [&](const JobEnd* end) {
        return slot.claimed <= EndOfSecond(end->at) && slot.freed && end->at <= *slot.freed;
      });
      if (slot.freed && !may_be_free) {
        Break("slot {} of {} was released at {}, before its job ended", slot.id, slot.job,
              slot.freed->value);
      }
    }
  }

  // Checks that slots were released within kFreeWithin of each delivery without a trouble.
  void CheckDeliveries(std::uint64_t& measured) {
    std::set<std::string> seen;
    for (const QueueDelivery& delivery : events_.queue().deliveries) {
      const bool is_repeated = !seen.insert(delivery.body).second;
      const UnixMillis from = AfterTroubles(delivery.visible);
      const UnixMillis bound_until = is_repeated ? from + -events_.index_lag() : from;
      if (delivery.delivered < from || HasTrouble(from, from + kFreeWithin)) continue;
      const JobEnd& end = *by_event_.at(delivery.body);
      for (const BoundSlot& slot : slots_) {
        if (slot.job != end.job || slot.claimed > end.at || slot.bound > bound_until) continue;
        if (slot.freed && *slot.freed < from) continue;
        ++measured;
        if (slot.freed && *slot.freed <= from + kFreeWithin) continue;
        Break("slot {} of {} was still held 10 seconds after {}, when its event was there", slot.id,
              slot.job, from.value);
      }
    }
  }

  // A message may be received again only after an end, a crash, a stop or a failed call.
  void CheckQueue() {
    const ScriptedQueue& queue = events_.queue();
    if (queue.size() > 0) Break("{} messages are left in the queue", queue.size());
    for (const std::string& body : queue.dead_letters) Break("a dead letter: {}", body);
    for (const std::string& misuse : queue.misuses) Break("the queue was called: {}", misuse);
    std::size_t max_ends = 0;
    for (const auto& [job, ends] : ends_of_) max_ends = std::max(max_ends, ends.size());
    const std::uint64_t most = max_ends +
                               static_cast<unsigned>(events_.crashes() + events_.stops()) +
                               queue.counts.refused + queue.counts.lost_responses;
    const auto receives = static_cast<std::uint64_t>(queue.max_receives());
    if (receives > most) Break("a message was received {} times, with {} reasons", receives, most);
  }

  std::vector<std::string> Tell() { return std::move(broken_); }

 private:
  template <class... Args>
  void Break(fmt::format_string<Args...> format, Args&&... args) {
    broken_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  bool HasTrouble(UnixMillis from, UnixMillis to) const {
    return std::ranges::any_of(events_.troubles(), [&](const Trouble& trouble) {
      return trouble.from <= to && trouble.to >= from;
    });
  }
  // Returns the first instant from `from` on that is in no trouble.
  UnixMillis AfterTroubles(UnixMillis from) const {
    const auto& troubles = events_.troubles();
    const auto holds = [&](const Trouble& trouble) {
      return trouble.from <= from && from <= trouble.to;
    };
    for (auto at = std::ranges::find_if(troubles, holds); at != troubles.end();
         at = std::ranges::find_if(troubles, holds)) {
      from = at->to + milliseconds(1);
    }
    return from;
  }

  const std::vector<BoundSlot>& slots_;
  const SlotEvents& events_;
  std::map<std::string, std::vector<const JobEnd*>> ends_of_;
  std::map<std::string, const JobEnd*> by_event_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> BrokenReleases(const sim::DynamoTable& table, const SlotEvents& events,
                                        std::uint64_t& measured) {
  BoundSlots slots;
  for (const sim::StreamRecord& record : table.stream()) slots.See(record);
  ReleaseOracle oracle(slots.all(), events);
  oracle.CheckSlots();
  oracle.CheckDeliveries(measured);
  oracle.CheckQueue();
  return oracle.Tell();
}

}  // namespace weir::simulation
