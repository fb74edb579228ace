// Test support: slots in the store in memory, with a client of rate-limiter-py that follows none of
// Weir's rules, and with releases that can fail.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/bucket_time.h"
#include "weir/store/memory/memory_rows.h"
#include "weir/store/reservation/row_reservations.h"

namespace weir {

/// Not thread-safe.
class SlotsInMemory final : public ReservationStore {
 public:
  void Claim(const SlotClaim& claim, UnixMillis now, Deadline deadline,
             Done<ClaimResult> done) override {
    slots().Claim(claim, now, deadline, std::move(done));
  }
  void Bind(const SlotRef& slot, const std::string& resource_id, milliseconds ttl, UnixMillis now,
            Deadline deadline, Done<HeldSlot> done) override {
    slots().Bind(slot, resource_id, ttl, now, deadline, std::move(done));
  }
  void Renew(const SlotRef& slot, milliseconds ttl, UnixMillis now, Deadline deadline,
             Done<HeldSlot> done) override {
    slots().Renew(slot, ttl, now, deadline, std::move(done));
  }
  void Release(const SlotRef& slot, UnixMillis now, Deadline deadline, Done<bool> done) override {
    slots().Release(slot, now, deadline, std::move(done));
  }
  void ReleaseUnbound(const SlotRef& slot, UnixMillis now, Deadline deadline,
                      Done<bool> done) override {
    slots().ReleaseUnbound(slot, now, deadline, std::move(done));
  }
  void List(const AccountKey& key, const PageRequest& page, UnixMillis now, Deadline deadline,
            Done<Page<HeldSlot>> done) override {
    slots().List(key, page, now, deadline, std::move(done));
  }
  void ReleaseResource(const EndedResource& ended, UnixMillis now, Deadline deadline,
                       Done<std::size_t> done) override {
    asked.push_back(ended);
    asked_at.push_back(now);
    if (!faults.empty()) {
      const Error fault = std::exchange(faults.front(), {});
      faults.pop_front();
      return done(Fail(fault));
    }
    if (silent) return waiting.push_back(std::move(done));
    slots().ReleaseResource(ended, now, deadline, std::move(done));
  }

  /// Returns a backend with these slots.
  ReservationBackend& backend() { return backend_; }
  /// Makes the backend use a bucket time of its own, derived from this clock.
  void UseTimeOf(const Clock& clock) { backend_.time = BucketTime::FromWall(clock); }

  /// Claims a slot for five minutes.
  void Claimed(const std::string& slot, UnixMillis at) {
    const SlotClaim claim{.slot = {kKey, slot}, .limit = 1'000'000, .ttl = milliseconds(300'000)};
    Claim(claim, at, Deadline::Never(), [](const auto&) {});
  }
  /// Binds a slot as a client of rate-limiter-py does: without any check and without a time of
  /// claiming.
  void BoundByOthers(const std::string& slot, const std::string& resource) {
    (void)rows_.PutSlot({kKey, slot, resource, UnixMillis{0}, UnixMillis{INT64_MAX}});
  }
  std::set<std::string> held() {
    const auto all = rows_.ListHeld({.key = kKey, .after = "", .limit = SIZE_MAX}, UnixMillis{0});
    std::set<std::string> ids;
    for (const HeldSlot& slot : *all) ids.insert(slot.id);
    return ids;
  }

  std::vector<EndedResource> asked;
  std::vector<UnixMillis> asked_at;  ///< `now` of each
  std::deque<Error> faults;          ///< errors of the next requests
  bool silent = false;               ///< requests get no result; they are kept in `waiting`
  std::vector<Done<std::size_t>> waiting;

 private:
  struct Place final : RowTransactions {
    explicit Place(MemoryRows& all) : rows(all) {}
    Status Write(Deadline, const Body& body) override {
      body(rows);
      return {};
    }
    Status Read(Deadline deadline, const Body& body) override { return Write(deadline, body); }
    std::string Describe() const override { return "slots of a test"; }

    MemoryRows& rows;
  };

  struct AsBackend final : ReservationBackend {
    explicit AsBackend(SlotsInMemory& all) : owner(all) {}
    ReservationStore& slots() override { return owner; }
    AccountLimitStore& limits() override { return owner.store_->limits(); }
    TokenStore& tokens() override { return owner.store_->tokens(); }
    std::string Describe() const override { return owner.store_->Describe(); }
    std::optional<UnixMillis> OwnTime() const override {
      return time.transform([](const BucketTime& of) { return of.Now(); });
    }

    SlotsInMemory& owner;
    std::optional<BucketTime> time;
  };

  static inline const AccountKey kKey{"emr", "acme"};

  ReservationStore& slots() { return store_->slots(); }

  MemoryRows rows_;
  const std::unique_ptr<ReservationBackend> store_ =
      MakeRowReservations(std::make_unique<Place>(rows_));
  AsBackend backend_{*this};
};

}  // namespace weir
