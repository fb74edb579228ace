#include "weir/budget/limiter_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "weir/model/reserved_allowance.h"

namespace weir {
namespace {

constexpr char kResource[] = "kinesis-shard";
constexpr char kRecords[] = "records";
constexpr char kBytes[] = "bytes";

std::string EntityOf(const kinesis::StreamAddress& stream, kinesis::ShardId shard) {
  std::string address = stream.arn.empty() ? stream.name : stream.arn;
  std::ranges::replace(address, '/', ':');
  return fmt::format("kinesis:{}:{}", address, kinesis::FormatShardId(shard));
}

std::vector<Limit> LimitsFor(const ShardQuotas& quotas) {
  return {{.name = kRecords, .quota = quotas.records, .allowance = quotas.allowance},
          {.name = kBytes, .quota = quotas.bytes, .allowance = quotas.allowance}};
}

// Removes the allowances from limits that ReserveAllowance returned. Their capacities stay reduced,
// so that requests with and without an allowance use the same capacity of a bucket.
std::vector<Limit> WithoutAllowance(std::vector<Limit> limits) {
  for (Limit& limit : limits) limit.allowance = milliseconds(0);
  return limits;
}

// Converts to whole tokens, rounding down. Debt becomes 0.
std::size_t TokensOf(std::int64_t millitokens) {
  return static_cast<std::size_t>(std::max<std::int64_t>(millitokens, 0) / kMillitokens);
}

// Returns nothing if the store did not return the balance of both limits.
std::optional<kinesis::BudgetBalance> BalanceOf(const Outcome& outcome) {
  if (outcome.unprotected()) return std::nullopt;
  const Decision& decision = outcome.decision();
  const auto find_status = [&decision](std::string_view limit) {
    return std::ranges::find(decision.limits, limit, &LimitStatus::limit);
  };
  const auto records = find_status(kRecords);
  const auto bytes = find_status(kBytes);
  if (records == decision.limits.end() || bytes == decision.limits.end()) return std::nullopt;
  if (decision.contended) return std::nullopt;
  // A store that divides the bucket returns the balance of one part. The other parts are assumed to
  // be as full.
  const auto tokens_left = [&decision](const LimitStatus& limit) {
    return TokensOf(std::min(limit.available * decision.of_shards, limit.capacity));
  };
  return kinesis::BudgetBalance{
      .left = {tokens_left(*records), tokens_left(*bytes)},
      .capacity = {TokensOf(records->capacity), TokensOf(bytes->capacity)}};
}

// Returns the amount to charge: `amount`, but at most `capacity`, the tokens of a full bucket.
std::int64_t Cost(std::size_t amount, std::int64_t capacity) {
  return std::min(static_cast<std::int64_t>(amount), capacity);
}

}  // namespace

LimiterBudget::LimiterBudget(Limiter& limiter, const Clock& clock, const ShardQuotas& quotas)
    : limiter_(limiter),
      clock_(clock),
      limits_(LimitsFor(quotas)),
      paced_limits_(WithoutAllowance(ReserveAllowance(limits_))),
      max_records_(paced_limits_[0].quota.capacity / kMillitokens),
      max_bytes_(paced_limits_[1].quota.capacity / kMillitokens) {}

void LimiterBudget::RequestBudget(const kinesis::StreamAddress& stream,
                                  const kinesis::BudgetRequest& ask,
                                  Done<kinesis::BudgetDecision> done) {
  const std::string entity = EntityOf(stream, ask.shard);
  const AcquireRequest request{.entity = entity,
                               .resource = kResource,
                               .amounts = {{kRecords, Cost(ask.records, max_records_)},
                                           {kBytes, Cost(ask.bytes, max_bytes_)}},
                               .limits = ask.is_paced ? paced_limits_ : limits_,
                               .on_unavailable = OnUnavailable::kAllow};
  const Deadline deadline = std::min(Deadline::After(clock_, kStoreTime), Deadline::At(ask.until));
  limiter_.Acquire(request, deadline,
                   [done = std::move(done)](const Result<Outcome>& result) mutable {
                     done(result.map([](const Outcome& outcome) {
                       return kinesis::BudgetDecision{.granted = outcome.admitted(),
                                                      .retry_after = outcome.decision().retry_after,
                                                      .balance = BalanceOf(outcome)};
                     }));
                   });
}

}  // namespace weir
