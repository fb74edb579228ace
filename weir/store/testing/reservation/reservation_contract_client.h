// A store of slots, limits and tokens under test, with synchronous calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/store/reservation/reservation_backend.h"
#include "weir/store/testing/contract_caller.h"

namespace weir {

/// One store under test, the means to complete its calls, and its promised precision.
class ReservationHarness {
 public:
  virtual ~ReservationHarness() = default;
  virtual ReservationBackend& backend() = 0;
  /// See BackendHarness::Pump.
  virtual bool Pump() { return false; }
  /// Returns another client of the same store, as another process would have; null if that is not
  /// possible. Its calls also complete by Pump. It is destroyed before this one.
  virtual std::unique_ptr<ReservationBackend> AnotherClient() { return nullptr; }
  /// Returns when ReleaseResource and KeysOfService see all completed changes: their indexes may be
  /// slightly out of date.
  virtual void Settle() {}

  /// Returns the store's time.
  virtual UnixMillis now() const { return kStart; }
  /// Returns for how long after its expiry a slot may be withheld from other claims.
  virtual milliseconds skew() const { return milliseconds(0); }
  /// Returns how much later than requested a slot may expire.
  virtual milliseconds rounding(milliseconds) const { return milliseconds(0); }
  /// Returns the number of random cases for each property.
  virtual int cases() const { return 100; }
};

/// For a store whose calls complete before they return.
class PlainReservations final : public ReservationHarness {
 public:
  explicit PlainReservations(std::unique_ptr<ReservationBackend> backend)
      : backend_(std::move(backend)) {}
  ReservationBackend& backend() override { return *backend_; }

 private:
  std::unique_ptr<ReservationBackend> backend_;
};

/// Every method as a synchronous call on one client of the store. `backend` must outlive it.
class ReservationClient : public ContractCaller {
 public:
  ReservationClient(ReservationBackend& backend, Pump pump)
      : ContractCaller(std::move(pump)), backend_(backend) {}

  Result<ClaimResult> Claim(SlotClaim claim, UnixMillis now);
  Result<HeldSlot> Bind(SlotRef slot, std::string resource_id, milliseconds ttl, UnixMillis now);
  Result<HeldSlot> Renew(SlotRef slot, milliseconds ttl, UnixMillis now);
  Result<bool> Release(SlotRef slot, UnixMillis now);
  Result<bool> ReleaseUnbound(SlotRef slot, UnixMillis now);
  Result<std::size_t> ReleaseResource(EndedResource ended, UnixMillis now);
  Result<Page<HeldSlot>> List(AccountKey key, PageRequest page, UnixMillis now);

  Result<std::optional<AccountLimitRow>> GetLimit(AccountKey key);
  Result<std::vector<AccountKey>> LimitKeysOf(std::string service);
  Status Change(AccountLimitChange change);

  Result<TokenResult> Take(AccountKey key, AccountLimit limit, std::int64_t count, UnixMillis now);

 private:
  ReservationBackend& backend_;
};

}  // namespace weir
