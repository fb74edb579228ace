// Reservations in memory that report each claim. For tests only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "weir/store/memory/memory_reservations.h"

namespace weir {

/// Passes all calls to reservations in memory. Calls `on_claim`, which may block, before each
/// claim.
class NotedSlots final : public ReservationBackend, public ReservationStore {
 public:
  using OnClaim = std::function<void(const std::string& id)>;
  explicit NotedSlots(OnClaim on_claim) : on_claim_(std::move(on_claim)) {}

  ReservationStore& slots() override { return *this; }
  AccountLimitStore& limits() override { return memory_->limits(); }
  TokenStore& tokens() override { return memory_->tokens(); }
  std::string Describe() const override { return memory_->Describe(); }
  std::optional<UnixMillis> OwnTime() const override { return memory_->OwnTime(); }

  void Claim(const SlotClaim& claim, UnixMillis now, Deadline deadline,
             Done<ClaimResult> done) override {
    on_claim_(claim.slot.id);
    memory_->slots().Claim(claim, now, deadline, std::move(done));
  }
  void Bind(const SlotRef& slot, const std::string& id, milliseconds ttl, UnixMillis now,
            Deadline deadline, Done<HeldSlot> done) override {
    memory_->slots().Bind(slot, id, ttl, now, deadline, std::move(done));
  }
  void Renew(const SlotRef& slot, milliseconds ttl, UnixMillis now, Deadline deadline,
             Done<HeldSlot> done) override {
    memory_->slots().Renew(slot, ttl, now, deadline, std::move(done));
  }
  void Release(const SlotRef& slot, UnixMillis now, Deadline deadline, Done<bool> done) override {
    memory_->slots().Release(slot, now, deadline, std::move(done));
  }
  void ReleaseUnbound(const SlotRef& slot, UnixMillis now, Deadline deadline,
                      Done<bool> done) override {
    memory_->slots().ReleaseUnbound(slot, now, deadline, std::move(done));
  }
  void ReleaseResource(const EndedResource& ended, UnixMillis now, Deadline deadline,
                       Done<std::size_t> done) override {
    memory_->slots().ReleaseResource(ended, now, deadline, std::move(done));
  }
  void List(const AccountKey& key, const PageRequest& page, UnixMillis now, Deadline deadline,
            Done<Page<HeldSlot>> done) override {
    memory_->slots().List(key, page, now, deadline, std::move(done));
  }

 private:
  OnClaim on_claim_;
  std::unique_ptr<ReservationBackend> memory_ = MakeMemoryReservations();
};

}  // namespace weir
