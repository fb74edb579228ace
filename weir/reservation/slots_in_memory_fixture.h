// Slots for tests of what releases them: the smallest ReservationStore that knows what ended. Keys,
// limits and expiry are not its matter. Tests only.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weir/store/reservation_store.h"

namespace weir {

class SlotsInMemory final : public ReservationStore {
 public:
  void Claim(const SlotClaim& claim, UnixMillis now, Deadline, Done<ClaimAnswer> done) override {
    const HeldSlot slot{claim.slot.key, claim.slot.id, claim.slot.id, now, now + claim.ttl};
    held_.emplace(slot.id, slot);
    done(ClaimAnswer{.slot = slot});
  }

  void Bind(const SlotRef& slot, const std::string& resource_id, milliseconds, UnixMillis now,
            Deadline, Done<HeldSlot> done) override {
    const auto held = held_.find(slot.id);
    if (held == held_.end()) return done(Fail(Code::kNotFound, "not held"));
    const auto ended = ended_.find(resource_id);
    const bool has_ended = ended != ended_.end() && now < ended->second.remember_until &&
                           held->second.claimed <= ended->second.ended_at;
    if (has_ended) held_.erase(held);
    if (has_ended) return done(Fail(Code::kFailedPrecondition, "it has ended"));
    held->second.resource_id = resource_id;
    done(held->second);
  }

  void Renew(const SlotRef& slot, milliseconds, UnixMillis, Deadline,
             Done<HeldSlot> done) override {
    done(held_.at(slot.id));
  }

  void Release(const SlotRef& slot, UnixMillis, Deadline, Done<bool> done) override {
    done(held_.erase(slot.id) > 0);
  }

  void ReleaseResource(const EndedResource& ended, UnixMillis, Deadline,
                       Done<std::size_t> done) override {
    asked.push_back(ended);
    if (!faults.empty()) {
      const Error fault = std::exchange(faults.front(), {});
      faults.pop_front();
      return done(Fail(fault));
    }
    if (silent) return waiting.push_back(std::move(done));
    const std::size_t released = std::erase_if(held_, [&ended](const auto& one) {
      return one.second.resource_id == ended.resource_id && one.second.claimed <= ended.ended_at;
    });
    if (released == 0) Remember(ended);
    done(released);
  }

  void List(const AccountKey&, const PageRequest&, UnixMillis, Deadline,
            Done<Page<HeldSlot>> done) override {
    done(Page<HeldSlot>{});
  }

  /// As Claim does.
  void Claimed(const std::string& slot, UnixMillis at) {
    held_[slot] = {{"emr", "acme"}, slot, slot, at, at + milliseconds(300'000)};
  }
  /// As a client of rate-limiter-py does: it looks at nothing, and keeps no time of claiming.
  void BoundByOthers(const std::string& slot, const std::string& resource) {
    held_[slot] = {{"emr", "acme"}, slot, resource, UnixMillis{0}, UnixMillis{INT64_MAX}};
  }
  std::set<std::string> held() const {
    std::set<std::string> slots;
    for (const auto& [id, slot] : held_) slots.insert(id);
    return slots;
  }

  std::vector<EndedResource> asked;
  std::deque<Error> faults;  ///< answers to the next requests
  bool silent = false;       ///< requests wait for an answer
  std::vector<Done<std::size_t>> waiting;

 private:
  void Remember(const EndedResource& ended) {
    EndedResource& known = ended_.try_emplace(ended.resource_id, ended).first->second;
    known.ended_at = std::max(known.ended_at, ended.ended_at);
    known.remember_until = std::max(known.remember_until, ended.remember_until);
  }

  std::map<std::string, HeldSlot> held_;
  std::map<std::string, EndedResource> ended_;
};

}  // namespace weir
