// Two clients of one store.
#include "weir/store/testing/reservation/reservation_contract.h"

namespace weir {
namespace {

using std::chrono_literals::operator""s;

// Fails if: another client does not count a client's slots, or cannot bind and release them.
TEST_P(ReservationContractClients, ClientsOfAPlaceShareItsSlots) {
  const auto backend = harness_->AnotherClient();
  ASSERT_NE(backend, nullptr);
  ReservationClient other(*backend, [this] { return harness_->Pump(); });
  const AccountKey key = FreshKey();
  const HeldSlot slot = Hold(key, 2, start_);
  const SlotClaim claim{.slot = FreshSlot(key), .limit = 2, .ttl = kSlotLife};
  EXPECT_TRUE(other.Claim(claim, start_)->slot);
  EXPECT_FALSE(HasRoom(key, 2, start_));
  const std::string job = Fresh("j");
  EXPECT_TRUE(other.Bind(RefOf(slot), job, kSlotLife, start_ + 1s));
  harness_->Settle();
  EXPECT_EQ(store_.ReleaseResource({.resource_id = job, .ended_at = start_ + 1s}, start_ + 2s), 1U);
  EXPECT_EQ(store_.Release(claim.slot, start_ + 2s), true);
  EXPECT_EQ(other.Release(claim.slot, start_ + 2s), false);
  EXPECT_EQ(other.List(key, {}, start_ + 2s)->items, std::vector<HeldSlot>{});
  EXPECT_EQ(other.CountBadResults(), 0U);
}

// Fails if: a client uses cached tokens or limits.
TEST_P(ReservationContractClients, ClientsOfAPlaceShareItsTokensAndLimits) {
  const auto backend = harness_->AnotherClient();
  ASSERT_NE(backend, nullptr);
  ReservationClient other(*backend, [this] { return harness_->Pump(); });
  const AccountKey key = FreshKey();
  const AccountLimit limit{.limit = 10, .window = 10s};
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(store_.Take(key, limit, 1, start_)->taken);
    EXPECT_TRUE(other.Take(key, limit, 1, start_)->taken);
  }
  EXPECT_FALSE(store_.Take(key, limit, 1, start_)->taken);
  EXPECT_FALSE(other.Take(key, limit, 1, start_)->taken);

  const AccountLimitRow row{.key = key, .limit = limit, .service = Fresh("service")};
  EXPECT_TRUE(store_.Change(PutAccountLimit{.row = row, .seen = {}}));
  EXPECT_EQ(other.GetLimit(key).value(), row);
  EXPECT_EQ(other.CountBadResults(), 0U);
}

}  // namespace
}  // namespace weir
