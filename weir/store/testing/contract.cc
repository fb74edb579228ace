#include "weir/store/testing/contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir {
namespace {

// Checks the invariants of every decision: a limit is exceeded if less is available than requested,
// the wait is the longest of the exceeded limits, and one exceeded limit refuses the request.
bool IsSound(const Decision& decision) {
  milliseconds longest(0);
  for (const LimitStatus& limit : decision.limits) {
    const bool is_short = limit.requested > 0 && limit.available < limit.requested;
    if (limit.exceeded != is_short) return false;
    if (is_short != (limit.retry_after > milliseconds(0))) return false;
    longest = std::max(longest, limit.retry_after);
  }
  return decision.retry_after == longest && decision.admitted == (longest == milliseconds(0));
}

}  // namespace

std::string ContractName(const testing::TestParamInfo<ContractCase>& info) {
  return info.param.name;
}

Charge Tokens(const TargetPtr& target, std::vector<std::int64_t> tokens) {
  for (std::int64_t& amount : tokens) amount *= kMillitokens;
  return {target, std::move(tokens)};
}

Charge Milli(const TargetPtr& target, std::vector<std::int64_t> millitokens) {
  return {target, std::move(millitokens)};
}

StoreContract::StoreContract() : harness_(GetParam().make()), store_(*harness_) {}

void StoreContract::TearDown() {
  // Callbacks that run twice run the second time soon.
  for (int i = 0; i < 100 && harness_->Pump(); ++i) continue;
  EXPECT_EQ(store_.CountBadResults(), 0U) << "calls that were not answered exactly once";
}

std::string StoreContract::Fresh(std::string_view stem) {
  return fmt::format("{}-{}", stem, ++names_);
}

TargetPtr StoreContract::FreshTarget(std::vector<Limit> limits) {
  return MakeTarget({.entity = Fresh("acme"), .resource = "gpt-4"}, std::move(limits));
}

Decision StoreContract::Ask(std::vector<Charge> charges, UnixMillis now) {
  Result<Decision> decision = store_.Acquire(std::move(charges), now);
  if (!decision) {
    ADD_FAILURE() << decision.error().message;
    return {};
  }
  EXPECT_TRUE(IsSound(*decision)) << testing::PrintToString(*decision);
  return *std::move(decision);
}

Balances StoreContract::Balance(const TargetPtr& target, UnixMillis now) {
  // An amount of 0 is never refused, and takes nothing.
  const Decision decision =
      Ask({Milli(target, std::vector<std::int64_t>(target->limits.size()))}, now);
  EXPECT_TRUE(decision.admitted);
  std::vector<std::int64_t> balance;
  for (const LimitStatus& limit : decision.limits) balance.push_back(limit.available);
  return balance;
}

std::vector<BucketRecord> StoreContract::Kept(const std::vector<std::string>& entities) {
  std::vector<BucketRecord> kept;
  for (const std::string& entity : entities) {
    auto page = store_.List({.entity = entity, .resource = {}}, {});
    EXPECT_TRUE(page && page->next.empty());
    if (page) kept.insert(kept.end(), page->items.begin(), page->items.end());
  }
  std::ranges::sort(kept, {}, &BucketRecord::key);
  return kept;
}

}  // namespace weir
