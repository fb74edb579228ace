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

// Returns the limits without an allowance. Their capacities are those that the allowances leave, so
// that debits with and without an allowance use the same bucket.
std::vector<Limit> WithoutAllowance(std::vector<Limit> usable) {
  for (Limit& limit : usable) limit.allowance = milliseconds(0);
  return usable;
}

// Converts to whole tokens, rounding down. Debt becomes 0.
std::size_t TokensOf(std::int64_t millitokens) {
  return static_cast<std::size_t>(std::max<std::int64_t>(millitokens, 0) / kMillitokens);
}

// Returns nothing if the store did not return the balance of both limits.
std::optional<kinesis::BudgetBalance> BalanceOf(const Outcome& outcome) {
  if (outcome.unprotected()) return std::nullopt;
  const Decision& decision = outcome.decision();
  const auto status = [&decision](std::string_view limit) {
    return std::ranges::find(decision.limits, limit, &LimitStatus::limit);
  };
  const auto records = status(kRecords);
  const auto bytes = status(kBytes);
  if (records == decision.limits.end() || bytes == decision.limits.end()) return std::nullopt;
  if (decision.contended) return std::nullopt;
  // A store that divides the bucket returns the balance of one part. The others are assumed to be
  // as full.
  const auto left = [&decision](const LimitStatus& limit) {
    return TokensOf(std::min(limit.available * decision.of_shards, limit.capacity));
  };
  return kinesis::BudgetBalance{
      .left = {left(*records), left(*bytes)},
      .capacity = {TokensOf(records->capacity), TokensOf(bytes->capacity)}};
}

// Returns the amount to charge: one that exceeds a full bucket takes all of it.
std::int64_t Cost(std::size_t amount, std::int64_t most) {
  return std::min(static_cast<std::int64_t>(amount), most);
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
  const Deadline answer = std::min(Deadline::After(clock_, kStoreTime), Deadline::At(ask.until));
  limiter_.Acquire(request, answer,
                   [done = std::move(done)](const Result<Outcome>& result) mutable {
                     done(result.map([](const Outcome& outcome) {
                       return kinesis::BudgetDecision{.granted = outcome.admitted(),
                                                      .retry_after = outcome.decision().retry_after,
                                                      .balance = BalanceOf(outcome)};
                     }));
                   });
}

}  // namespace weir
