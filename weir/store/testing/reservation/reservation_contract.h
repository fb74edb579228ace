// The contract of every store of slots, limits and tokens, as suites of tests. They test
// implementations against the texts of reservation_store.h, account_limits.h and token_store.h. A
// backend's tests include all of them by linking weir_reservation_contract and writing
//
//   const auto kPlaces = ReservationsOn({{"default", [] {
//     return std::make_unique<PlainReservations>(MakeMemoryReservations());
//   }}});
//   INSTANTIATE_TEST_SUITE_P(Memory, ReservationContract, kPlaces, ReservationsName);
//
// and so on for each suite. Every test uses new names, so the tests may share one store.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/rng.h"
#include "weir/store/testing/contract_caller.h"
#include "weir/store/testing/reservation/reservation_contract_client.h"

namespace weir {

struct ReservationCase {
  std::string name;  ///< letters, digits and '_'
  std::function<std::unique_ptr<ReservationHarness>()> make;

  friend void PrintTo(const ReservationCase& self, std::ostream* out) { *out << self.name; }
};

inline auto ReservationsOn(std::vector<ReservationCase> cases) { return testing::ValuesIn(cases); }
std::string ReservationsName(const testing::TestParamInfo<ReservationCase>& info);

/// Long enough that every rounding is shorter.
inline constexpr milliseconds kSlotLife{60'000};

/// TearDown checks that every call has completed exactly once.
class ReservationContract : public testing::TestWithParam<ReservationCase> {
 protected:
  ReservationContract();
  void TearDown() override;

  /// Returns a name that was never used.
  std::string Fresh(std::string_view stem);
  AccountKey FreshKey() { return {.resource = Fresh("emr"), .account = Fresh("acme")}; }
  SlotRef FreshSlot(const AccountKey& key);

  /// Makes a claim that must not fail; it may be refused. Checks that the result is consistent.
  ClaimResult Claim(const SlotClaim& claim, UnixMillis now);
  /// Claims a new slot; the claim must be admitted.
  HeldSlot Hold(const AccountKey& key, std::int64_t limit, UnixMillis now,
                milliseconds ttl = kSlotLife);
  /// Returns true if another slot would be admitted. It claims one to find out, and releases it.
  bool HasRoom(const AccountKey& key, std::int64_t limit, UnixMillis now);
  HeldSlot Bind(const HeldSlot& slot, const std::string& resource_id, UnixMillis now,
                milliseconds ttl = kSlotLife);
  std::vector<std::string> HeldIds(const AccountKey& key, UnixMillis now, std::size_t limit = 1000);
  std::size_t CountHeld(const AccountKey& key, UnixMillis now) { return HeldIds(key, now).size(); }

  /// Returns true if a slot claimed or renewed at `now` for `ttl` may have this expiry.
  bool MayExpire(UnixMillis expires, UnixMillis now, milliseconds ttl) const;
  /// Returns the time from which on another claim certainly gets the slot.
  UnixMillis FreeAt(const HeldSlot& slot) const { return slot.expires + harness_->skew(); }

  /// Checks a RapidCheck property with the harness's number of cases.
  template <class Property>
  void CheckProperty(Property&& property) {
    CheckPropertyTimes(harness_->cases(), std::forward<Property>(property));
  }

  Rng random_;
  std::unique_ptr<ReservationHarness> harness_;
  ReservationClient store_;
  const UnixMillis start_;

 private:
  int names_ = 0;
};

class AccountLimitContract : public ReservationContract {
 protected:
  AccountLimitRow FreshRow(const std::string& service);
  std::optional<AccountLimitRow> Get(const AccountKey& key);
};

class TokenContract : public ReservationContract {
 protected:
  /// Makes a take that must not fail; it may be refused. Checks that the result is consistent.
  TokenResult Take(const AccountKey& key, AccountLimit limit, std::int64_t count, UnixMillis now);
};

/// For stores for which AnotherClient opens a second client.
class ReservationContractClients : public ReservationContract {};

/// For stores that allow concurrent calls from several threads. Half of the threads use another
/// client, if there is one.
class ReservationContractThreads : public ReservationContract {};

inline SlotRef RefOf(const HeldSlot& slot) { return {.key = slot.key, .id = slot.id}; }

// GoogleTest finds these functions by their argument type.
void PrintTo(const HeldSlot& slot, std::ostream* out);
void PrintTo(const AccountLimitRow& row, std::ostream* out);
void PrintTo(const TokenResult& result, std::ostream* out);

}  // namespace weir
