#include "weir/store/testing/reservation/reservation_contract_client.h"

namespace weir {
namespace {

constexpr Deadline kNever = Deadline::Never();

}  // namespace

// Each argument is moved into a local variable of the lambda, which is destroyed before the first
// pump.

Result<ClaimResult> ReservationClient::Claim(SlotClaim claim, UnixMillis now) {
  return Call<ClaimResult>([&](Done<ClaimResult> done) {
    const SlotClaim lent = std::move(claim);
    backend_.slots().Claim(lent, now, kNever, std::move(done));
  });
}

Result<HeldSlot> ReservationClient::Bind(SlotRef slot, std::string resource_id, milliseconds ttl,
                                         UnixMillis now) {
  return Call<HeldSlot>([&](Done<HeldSlot> done) {
    const auto lent = std::pair(std::move(slot), std::move(resource_id));
    backend_.slots().Bind(lent.first, lent.second, ttl, now, kNever, std::move(done));
  });
}

Result<HeldSlot> ReservationClient::Renew(SlotRef slot, milliseconds ttl, UnixMillis now) {
  return Call<HeldSlot>([&](Done<HeldSlot> done) {
    const SlotRef lent = std::move(slot);
    backend_.slots().Renew(lent, ttl, now, kNever, std::move(done));
  });
}

Result<bool> ReservationClient::Release(SlotRef slot, UnixMillis now) {
  return Call<bool>([&](Done<bool> done) {
    const SlotRef lent = std::move(slot);
    backend_.slots().Release(lent, now, kNever, std::move(done));
  });
}

Result<bool> ReservationClient::ReleaseUnbound(SlotRef slot, UnixMillis now) {
  return Call<bool>([&](Done<bool> done) {
    const SlotRef lent = std::move(slot);
    backend_.slots().ReleaseUnbound(lent, now, kNever, std::move(done));
  });
}

Result<std::size_t> ReservationClient::ReleaseResource(EndedResource ended, UnixMillis now) {
  return Call<std::size_t>([&](Done<std::size_t> done) {
    const EndedResource lent = std::move(ended);
    backend_.slots().ReleaseResource(lent, now, kNever, std::move(done));
  });
}

Result<Page<HeldSlot>> ReservationClient::List(AccountKey key, PageRequest page, UnixMillis now) {
  return Call<Page<HeldSlot>>([&](Done<Page<HeldSlot>> done) {
    const auto lent = std::pair(std::move(key), std::move(page));
    backend_.slots().List(lent.first, lent.second, now, kNever, std::move(done));
  });
}

Result<std::optional<AccountLimitRow>> ReservationClient::GetLimit(AccountKey key) {
  return Call<std::optional<AccountLimitRow>>([&](Done<std::optional<AccountLimitRow>> done) {
    const AccountKey lent = std::move(key);
    backend_.limits().Get(lent, kNever, std::move(done));
  });
}

Result<std::vector<AccountKey>> ReservationClient::LimitKeysOf(std::string service) {
  return Call<std::vector<AccountKey>>([&](Done<std::vector<AccountKey>> done) {
    const std::string lent = std::move(service);
    backend_.limits().KeysOfService(lent, kNever, std::move(done));
  });
}

Status ReservationClient::Change(AccountLimitChange change) {
  return Call<void>([&](Done<void> done) {
    const AccountLimitChange lent = std::move(change);
    backend_.limits().Change(lent, kNever, std::move(done));
  });
}

Result<TokenResult> ReservationClient::Take(AccountKey key, AccountLimit limit, std::int64_t count,
                                            UnixMillis now) {
  return Call<TokenResult>([&](Done<TokenResult> done) {
    const auto lent = std::pair(std::move(key), limit);
    backend_.tokens().Take(lent.first, lent.second, count, now, kNever, std::move(done));
  });
}

}  // namespace weir
