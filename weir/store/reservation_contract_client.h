// A place of slots, limits and tokens under test, called as if every answer came at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/store/contract_caller.h"
#include "weir/store/reservation_backend.h"

namespace weir {

/// One place under test, what makes its answers arrive, and how exact it promises to be.
class ReservationHarness {
 public:
  virtual ~ReservationHarness() = default;
  virtual ReservationBackend& backend() = 0;
  /// As BackendHarness::Pump.
  virtual bool Pump() { return false; }
  /// Another client of the same place, as another process has it; null where there is no such
  /// thing. Its answers arrive by Pump too. It ends before this one.
  virtual std::unique_ptr<ReservationBackend> AnotherClient() { return nullptr; }
  /// Returns when all that was answered is seen by ReleaseResource and KeysOfService: indexes may
  /// be a moment behind.
  virtual void Settle() {}

  /// What time it is there.
  virtual UnixMillis now() const { return kStart; }
  /// How much longer than its expiry a slot may be kept from others.
  virtual milliseconds skew() const { return milliseconds(0); }
  /// How much later than asked a slot may expire.
  virtual milliseconds rounding(milliseconds) const { return milliseconds(0); }
  /// How many random cases each property is worth here.
  virtual int cases() const { return 100; }
};

/// For a place that answers before its calls return.
class PlainReservations final : public ReservationHarness {
 public:
  explicit PlainReservations(std::unique_ptr<ReservationBackend> backend)
      : backend_(std::move(backend)) {}
  ReservationBackend& backend() override { return *backend_; }

 private:
  std::unique_ptr<ReservationBackend> backend_;
};

/// Every verb as a call on one client of the place. `backend` must outlive it.
class ReservationClient : public ContractCaller {
 public:
  ReservationClient(ReservationBackend& backend, Pump pump)
      : ContractCaller(std::move(pump)), backend_(backend) {}

  Result<ClaimAnswer> Claim(SlotClaim claim, UnixMillis now);
  Result<HeldSlot> Bind(SlotRef slot, std::string resource_id, milliseconds ttl, UnixMillis now);
  Result<HeldSlot> Renew(SlotRef slot, milliseconds ttl, UnixMillis now);
  Result<bool> Release(SlotRef slot, UnixMillis now);
  Result<bool> ReleaseUnbound(SlotRef slot, UnixMillis now);
  Result<std::size_t> ReleaseResource(EndedResource ended, UnixMillis now);
  Result<Page<HeldSlot>> List(AccountKey key, PageRequest page, UnixMillis now);

  Result<std::optional<AccountLimitRow>> GetLimit(AccountKey key);
  Result<std::vector<AccountKey>> LimitKeysOf(std::string service);
  Status Change(AccountLimitChange change);

  Result<TokenAnswer> Take(AccountKey key, AccountLimit limit, std::int64_t count, UnixMillis now);

 private:
  ReservationBackend& backend_;
};

}  // namespace weir
