#include "weir/store/testing/reservation/reservation_contract.h"

#include <fmt/format.h>

namespace weir {

std::string ReservationsName(const testing::TestParamInfo<ReservationCase>& info) {
  return info.param.name;
}

ReservationContract::ReservationContract()
    : random_(SystemSeed()),
      harness_(GetParam().make()),
      store_(harness_->backend(), [this] { return harness_->Pump(); }),
      start_(harness_->now()) {}

void ReservationContract::TearDown() {
  // Callbacks that run twice run the second time soon.
  for (int i = 0; i < 100 && harness_->Pump(); ++i) continue;
  EXPECT_EQ(store_.CountBadResults(), 0U) << "calls that were not answered exactly once";
}

std::string ReservationContract::Fresh(std::string_view stem) {
  return fmt::format("{}-{}-{:016x}", stem, ++names_, random_.Next());
}

SlotRef ReservationContract::FreshSlot(const AccountKey& key) {
  const std::uint64_t high = random_.Next();
  return {.key = key, .id = NewSlotId(high, random_.Next())};
}

ClaimResult ReservationContract::Claim(const SlotClaim& claim, UnixMillis now) {
  Result<ClaimResult> result = store_.Claim(claim, now);
  if (!result) {
    ADD_FAILURE() << result.error().message;
    return {};
  }
  if (!result->slot) {
    EXPECT_GE(result->in_use, claim.limit) << "refused though there was room";
    return *std::move(result);
  }
  EXPECT_EQ(result->slot->key, claim.slot.key);
  EXPECT_EQ(result->slot->id, claim.slot.id);
  EXPECT_LT(now, result->slot->expires);
  return *std::move(result);
}

HeldSlot ReservationContract::Hold(const AccountKey& key, std::int64_t limit, UnixMillis now,
                                   milliseconds ttl) {
  const ClaimResult result = Claim({.slot = FreshSlot(key), .limit = limit, .ttl = ttl}, now);
  if (!result.slot) {
    ADD_FAILURE() << "refused with " << result.in_use << " of " << limit << " in use";
    return {};
  }
  EXPECT_EQ(result.slot->claimed, now);
  EXPECT_FALSE(result.slot->bound());
  EXPECT_TRUE(MayExpire(result.slot->expires, now, ttl)) << testing::PrintToString(*result.slot);
  return *result.slot;
}

bool ReservationContract::HasRoom(const AccountKey& key, std::int64_t limit, UnixMillis now) {
  const SlotClaim claim{.slot = FreshSlot(key), .limit = limit, .ttl = kSlotLife};
  if (!Claim(claim, now).slot) return false;
  EXPECT_EQ(store_.Release(claim.slot, now), true);
  return true;
}

HeldSlot ReservationContract::Bind(const HeldSlot& slot, const std::string& resource_id,
                                   UnixMillis now, milliseconds ttl) {
  const Result<HeldSlot> bound = store_.Bind(RefOf(slot), resource_id, ttl, now);
  if (!bound) {
    ADD_FAILURE() << bound.error().message;
    return {};
  }
  EXPECT_EQ(bound->id, slot.id);
  EXPECT_EQ(bound->claimed, slot.claimed);
  EXPECT_EQ(bound->resource_id, resource_id);
  EXPECT_TRUE(MayExpire(bound->expires, now, ttl)) << testing::PrintToString(*bound);
  return *bound;
}

std::vector<std::string> ReservationContract::HeldIds(const AccountKey& key, UnixMillis now,
                                                      std::size_t limit) {
  std::vector<std::string> ids;
  for (const HeldSlot& slot :
       AllPages(limit, [&](const PageRequest& page) { return store_.List(key, page, now); })) {
    EXPECT_EQ(slot.key, key);
    EXPECT_LT(now, slot.expires);
    ids.push_back(slot.id);
  }
  return ids;
}

bool ReservationContract::MayExpire(UnixMillis expires, UnixMillis now, milliseconds ttl) const {
  return expires >= now + ttl && expires <= now + ttl + harness_->rounding(ttl);
}

AccountLimitRow AccountLimitContract::FreshRow(const std::string& service) {
  return {.key = FreshKey(),
          .limit = {.limit = 10, .window = std::chrono::seconds(60)},
          .service = service};
}

std::optional<AccountLimitRow> AccountLimitContract::Get(const AccountKey& key) {
  const auto found = store_.GetLimit(key);
  if (found) return *found;
  ADD_FAILURE() << found.error().message;
  return std::nullopt;
}

TokenResult TokenContract::Take(const AccountKey& key, AccountLimit limit, std::int64_t count,
                                UnixMillis now) {
  const Result<TokenResult> result = store_.Take(key, limit, count, now);
  if (!result) {
    ADD_FAILURE() << result.error().message;
    return {};
  }
  EXPECT_EQ(result->taken, result->retry_after == milliseconds(0))
      << testing::PrintToString(*result);
  EXPECT_TRUE(result->taken || result->available < count) << testing::PrintToString(*result);
  EXPECT_LE(result->available, result->taken ? limit.limit - count : limit.limit);
  return *result;
}

void PrintTo(const HeldSlot& slot, std::ostream* out) {
  *out << "slot " << slot.id << " of " << Describe(slot.key) << " bound to " << slot.resource_id
       << ", claimed " << slot.claimed.value << ", expires " << slot.expires.value;
}

void PrintTo(const AccountLimitRow& row, std::ostream* out) {
  *out << row.limit.limit << " per " << row.limit.window.count() << " s for " << Describe(row.key)
       << ", put by '" << row.service << "'";
}

void PrintTo(const TokenResult& result, std::ostream* out) {
  *out << (result.taken ? "taken, " : "refused, ") << result.available << " available, again in "
       << result.retry_after.count() << " ms";
}

}  // namespace weir
