#include "weir/budget/limiter_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/limiter/allowance.h"

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

std::int64_t Cost(std::size_t amount, std::int64_t most) {
  return std::min(static_cast<std::int64_t>(amount), most);
}

}  // namespace

LimiterBudget::LimiterBudget(Limiter& limiter, const Clock& clock, const ShardQuotas& quotas)
    : limiter_(limiter), clock_(clock), limits_(LimitsFor(quotas)) {
  const std::vector<Limit> usable = SetAside(limits_);
  most_records_ = usable[0].quota.capacity / kMillitokens;
  most_bytes_ = usable[1].quota.capacity / kMillitokens;
}

void LimiterBudget::Ask(const kinesis::StreamAddress& stream, const kinesis::BudgetAsk& ask,
                        Done<kinesis::BudgetDecision> done) {
  const std::string entity = EntityOf(stream, ask.shard);
  const AcquireRequest request{.entity = entity,
                               .resource = kResource,
                               .amounts = {{kRecords, Cost(ask.records, most_records_)},
                                           {kBytes, Cost(ask.bytes, most_bytes_)}},
                               .limits = limits_,
                               .on_unavailable = OnUnavailable::kAllow};
  const Deadline answer = std::min(Deadline::After(clock_, kStoreTime), Deadline::At(ask.until));
  limiter_.Acquire(request, answer,
                   [done = std::move(done)](const Result<Outcome>& outcome) mutable {
                     done(outcome.map([](const Outcome& told) {
                       return kinesis::BudgetDecision{told.admitted(), told.decision().retry_after};
                     }));
                   });
}

}  // namespace weir
