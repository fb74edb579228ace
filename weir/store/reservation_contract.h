// What every place of slots, limits and tokens must do: suites of tests, run on each of them. They
// hold implementations to the texts of reservation_store.h, account_limits.h and token_store.h. A
// place's tests take all of them by linking weir_reservation_contract and writing
//
//   const auto kPlaces = ReservationsOn({{"default", [] {
//     return std::make_unique<PlainReservations>(MakeMemoryReservations());
//   }}});
//   INSTANTIATE_TEST_SUITE_P(Memory, ReservationContract, kPlaces, ReservationsName);
//
// and so on for each suite. Every test has names of its own, so one shared place will do.
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
#include "weir/store/contract_caller.h"
#include "weir/store/reservation_contract_client.h"

namespace weir {

struct ReservationCase {
  std::string name;  ///< letters, digits and '_'
  std::function<std::unique_ptr<ReservationHarness>()> make;

  friend void PrintTo(const ReservationCase& self, std::ostream* out) { *out << self.name; }
};

inline auto ReservationsOn(std::vector<ReservationCase> cases) { return testing::ValuesIn(cases); }
std::string ReservationsName(const testing::TestParamInfo<ReservationCase>& info);

/// Long enough that every rounding is less than it.
inline constexpr milliseconds kSlotLife{60'000};

/// At the end of each test every call has been answered exactly once.
class ReservationContract : public testing::TestWithParam<ReservationCase> {
 protected:
  ReservationContract();
  void TearDown() override;

  /// A name that nothing ever had.
  std::string Fresh(std::string_view stem);
  AccountKey FreshKey() { return {.resource = Fresh("emr"), .account = Fresh("acme")}; }
  SlotRef FreshSlot(const AccountKey& key);

  /// A claim that must not fail; it may be refused. The answer must agree with itself.
  ClaimAnswer Claim(const SlotClaim& claim, UnixMillis now);
  /// Claims a new slot, which must be admitted.
  HeldSlot Hold(const AccountKey& key, std::int64_t limit, UnixMillis now,
                milliseconds ttl = kSlotLife);
  /// Whether one slot more would be admitted. Where it is, it is released again.
  bool HasRoom(const AccountKey& key, std::int64_t limit, UnixMillis now);
  HeldSlot Bind(const HeldSlot& slot, const std::string& resource_id, UnixMillis now,
                milliseconds ttl = kSlotLife);
  std::vector<std::string> HeldIds(const AccountKey& key, UnixMillis now, std::size_t limit = 1000);
  std::size_t CountHeld(const AccountKey& key, UnixMillis now) { return HeldIds(key, now).size(); }

  /// Whether a slot may expire then that was to live for `ttl` from `now`.
  bool MayExpire(UnixMillis expires, UnixMillis now, milliseconds ttl) const;
  /// From when on others surely get it.
  UnixMillis FreeAt(const HeldSlot& slot) const { return slot.expires + harness_->skew(); }

  /// Checks a RapidCheck property as often as the harness says.
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
  /// A take that must not fail; it may be refused. The answer must agree with itself.
  TokenAnswer Take(const AccountKey& key, AccountLimit limit, std::int64_t count, UnixMillis now);
};

/// For places of which AnotherClient opens a second client.
class ReservationContractClients : public ReservationContract {};

/// For places that take calls from several threads at once. Half of them use another client where
/// there is one.
class ReservationContractThreads : public ReservationContract {};

inline SlotRef RefOf(const HeldSlot& slot) { return {.key = slot.key, .id = slot.id}; }

// GoogleTest finds these by their argument.
void PrintTo(const HeldSlot& slot, std::ostream* out);
void PrintTo(const AccountLimitRow& row, std::ostream* out);
void PrintTo(const TokenAnswer& answer, std::ostream* out);

}  // namespace weir
