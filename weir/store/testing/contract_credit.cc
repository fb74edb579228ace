// Resets and top-ups of buckets.
#include <gmock/gmock.h>

#include "weir/store/bucket/bucket_credit.h"
#include "weir/store/testing/contract.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kReset = BucketCredit::Kind::kReset;
constexpr auto kTopUp = BucketCredit::Kind::kTopUp;

// A limit that refills nothing during a test.
Limit Lasting(const std::string& name, std::int64_t tokens) {
  return {name, {.capacity = tokens * kMillitokens, .amount = 1, .period = kMaxPeriodMillis}};
}

BucketCredit CreditOf(BucketCredit::Kind kind, const TargetPtr& target,
                      std::vector<CreditAmount> amounts = {}) {
  return {.kind = kind,
          .entity = target->key.entity,
          .resource = target->key.resource,
          .amounts = std::move(amounts),
          .principal = "operator"};
}

TEST_P(StoreContract, AResetFillsEveryLimitAndIsAudited) {
  const TargetPtr acme = FreshTarget({Lasting("rpm", 10), Lasting("tpm", 100)});
  const UnixMillis now = harness_->backend().buckets().Now();
  ASSERT_TRUE(Ask({Tokens(acme, {10, 30})}, now).admitted);
  ASSERT_TRUE(store_.Adjust({Tokens(acme, {5, 0})}, now));
  const auto credited = store_.Credit(CreditOf(kReset, acme));
  ASSERT_TRUE(credited) << credited.error().message;
  EXPECT_THAT(*credited, ElementsAre(CreditedLimit{"rpm", 15'000, 10'000},
                                     CreditedLimit{"tpm", 30'000, 100'000}));
  EXPECT_EQ(Balance(acme, now), (Balances{10'000, 100'000}));
  const auto events = store_.ListEvents(acme->key.entity, {});
  ASSERT_TRUE(events);
  ASSERT_EQ(events->items.size(), 1U);
  const AuditEvent& event = events->items[0];
  EXPECT_EQ(event.action, audit_action::kBucketReset);
  EXPECT_EQ(event.principal, "operator");
  EXPECT_EQ(event.resource, acme->key.resource);
  EXPECT_EQ(event.details.at("millitokens_added"),
            (AuditDetail{AuditDetail::Parts{{"rpm", {std::int64_t{15'000}}},
                                            {"tpm", {std::int64_t{30'000}}}}}));
}

TEST_P(StoreContract, AResetOfOneLimitLeavesTheOthers) {
  const TargetPtr acme = FreshTarget({Lasting("rpm", 10), Lasting("tpm", 100)});
  const UnixMillis now = harness_->backend().buckets().Now();
  ASSERT_TRUE(Ask({Tokens(acme, {10, 30})}, now).admitted);
  ASSERT_TRUE(store_.Credit(CreditOf(kReset, acme, {{"rpm", 0}})));
  EXPECT_EQ(Balance(acme, now), (Balances{10'000, 70'000}));
}

TEST_P(StoreContract, ATopUpAddsTokensUpToTheCapacity) {
  const TargetPtr acme = FreshTarget({Lasting("rpm", 10), Lasting("tpm", 100)});
  const UnixMillis now = harness_->backend().buckets().Now();
  ASSERT_TRUE(Ask({Tokens(acme, {10, 30})}, now).admitted);
  const auto credited = store_.Credit(CreditOf(kTopUp, acme, {{"rpm", 4'000}, {"tpm", 500'000}}));
  ASSERT_TRUE(credited) << credited.error().message;
  EXPECT_THAT(*credited, ElementsAre(CreditedLimit{"rpm", 4'000, 4'000},
                                     CreditedLimit{"tpm", 30'000, 100'000}));
  EXPECT_EQ(Balance(acme, now), (Balances{4'000, 100'000}));
  EXPECT_EQ(store_.ListEvents(acme->key.entity, {})->items.at(0).action,
            audit_action::kBucketToppedUp);
}

TEST_P(StoreContract, ACreditOfAFullBucketChangesNothing) {
  const TargetPtr acme = FreshTarget({Lasting("rpm", 10)});
  const auto unknown = store_.Credit(CreditOf(kReset, acme));
  ASSERT_TRUE(unknown);
  EXPECT_THAT(*unknown, IsEmpty());
  EXPECT_THAT(Kept({acme->key.entity}), IsEmpty());
  EXPECT_THAT(store_.ListEvents(acme->key.entity, {})->items, IsEmpty());
}

TEST_P(StoreContract, BadCreditsChangeNothing) {
  const TargetPtr acme = FreshTarget({Lasting("rpm", 10)});
  const UnixMillis now = harness_->backend().buckets().Now();
  ASSERT_TRUE(Ask({Tokens(acme, {7})}, now).admitted);
  const auto message = [&](BucketCredit credit) {
    const auto result = store_.Credit(std::move(credit));
    EXPECT_FALSE(result);
    if (result) return std::string();
    EXPECT_EQ(result.error().code, Code::kInvalidArgument);
    return result.error().message;
  };
  EXPECT_THAT(message(CreditOf(kReset, acme, {{"rmp", 0}})), HasSubstr("no limit 'rmp'"));
  EXPECT_THAT(message(CreditOf(kTopUp, acme, {{"rpm", 1}, {"rmp", 1}})), HasSubstr("it has rpm"));
  EXPECT_THAT(message(CreditOf(kTopUp, acme)), HasSubstr("names no limit"));
  EXPECT_THAT(message(CreditOf(kTopUp, acme, {{"rpm", -1}})), HasSubstr("positive"));
  EXPECT_THAT(message(CreditOf(kTopUp, acme, {{"rpm", 1}, {"rpm", 1}})), HasSubstr("twice"));
  BucketCredit nameless = CreditOf(kReset, acme);
  nameless.principal = "\n";
  EXPECT_NE(message(nameless), "");
  EXPECT_EQ(Balance(acme, now), Balances{3'000});
  EXPECT_THAT(store_.ListEvents(acme->key.entity, {})->items, IsEmpty());
}

}  // namespace
}  // namespace weir
