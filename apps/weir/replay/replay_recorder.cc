#include "apps/weir/replay/replay_recorder.h"

#include <algorithm>
#include <map>
#include <utility>

namespace weir::app {
namespace {

std::int64_t AmountFor(const Amounts& amounts, std::string_view limit) {
  for (const Amount& amount : amounts) {
    if (amount.limit == limit) return amount.tokens.milli();
  }
  return 0;
}

LogLine LineFor(Moment moment, const LimitBalance& balance) {
  return {.at = moment.at,
          .seq = moment.seq,
          .entity = balance.key.entity,
          .resource = balance.key.resource,
          .limit = balance.limit,
          .balance = balance.tokens};
}

LogLine LineFor(Moment moment, const LimitStatus& status, bool admitted) {
  return {.at = moment.at,
          .seq = moment.seq,
          .entity = status.entity,
          .resource = status.resource,
          .outcome = admitted ? LogOutcome::kAdmitted : LogOutcome::kRefused,
          .limit = status.limit,
          .amount = status.requested,
          .balance = status.available - (admitted ? status.requested : 0)};
}

std::int64_t TokensPerMinute(const Target& target, const std::string& measured) {
  std::int64_t sum = 0;
  for (const Limit& limit : target.limits) {
    if (limit.name == measured) sum += limit.quota.amount * 60'000 / limit.quota.period;
  }
  return sum;
}

}  // namespace

void ReplayRecorder::AddTenant(const ReplayTrace::Tenant& tenant, std::vector<TargetPtr> targets) {
  report_.tenants.push_back({.entity = tenant.entity, .resource = tenant.resource});
  targets_.push_back(std::move(targets));
  for (const TargetPtr& target : targets_.back()) {
    const BucketKey& key = target->key;
    if (key.entity != tenant.entity) report_.above[key.entity];
    for (const Limit& limit : target->limits) {
      report_.limits[{key.entity, key.resource, limit.name}] = {
          limit.quota.capacity, limit.quota.amount, limit.quota.period};
    }
  }
}

void ReplayRecorder::RecordDecision(std::size_t tenant, Moment moment, const Decision& decision) {
  TenantTally& tally = report_.tenants[tenant];
  ++tally.asked;
  ++(decision.admitted ? tally.admitted : tally.refused);
  CountShort(tally, decision);
  for (const LimitStatus& status : decision.limits) {
    Write(tenant, LineFor(moment, status, decision.admitted));
  }
}

void ReplayRecorder::CountShort(TenantTally& tally, const Decision& decision) {
  RefusedBy& by = tally.refused_by;
  for (const LimitStatus& status : decision.limits) {
    if (!status.exceeded) continue;
    const bool own = status.entity == tally.entity;
    ++(own ? by.own : by.above)[status.limit];
  }
}

void ReplayRecorder::RecordImpossible(std::size_t tenant, Moment moment, const Amounts& amounts,
                                      const std::vector<LimitBalance>& balances) {
  ++report_.tenants[tenant].asked;
  ++report_.tenants[tenant].impossible;
  for (const LimitBalance& balance : balances) {
    LogLine line = LineFor(moment, balance);
    line.outcome = LogOutcome::kImpossible;
    line.amount = AmountFor(amounts, balance.limit);
    Write(tenant, std::move(line));
  }
}

void ReplayRecorder::RecordAdjust(std::size_t tenant, Moment moment, std::int64_t milli,
                                  const std::vector<LimitBalance>& balances) {
  for (const LimitBalance& balance : balances) {
    LogLine line = LineFor(moment, balance);
    line.op = LogOp::kAdjust;
    line.outcome = LogOutcome::kDone;
    line.amount = balance.limit == trace_.measured ? milli : 0;
    Write(tenant, std::move(line));
  }
}

// The tenant's own bucket is tallied per tenant, parents' buckets per entity. Only the measured
// limit is summed.
void ReplayRecorder::Write(std::size_t tenant, LogLine line) {
  TenantTally& tally = report_.tenants[tenant];
  const bool own = line.entity == tally.entity;
  std::int64_t& tokens = own ? tally.tokens : report_.above[line.entity].tokens;
  std::int64_t& debt = own ? tally.deepest_debt : report_.above[line.entity].deepest_debt;
  debt = std::max(debt, -line.balance);
  const bool charged = line.outcome == LogOutcome::kAdmitted || line.outcome == LogOutcome::kDone;
  if (charged && line.limit == trace_.measured) {
    tokens += line.amount;
    if (own) report_.charged.push_back({line.at, line.amount});
  }
  report_.log.push_back(std::move(line));
}

bool ReplayRecorder::IsImpossible(std::size_t tenant, const Amounts& amounts) const {
  for (const TargetPtr& target : targets_[tenant]) {
    for (const Limit& limit : target->limits) {
      if (AmountFor(amounts, limit.name) > limit.quota.capacity) return true;
    }
  }
  return false;
}

// Tenants may share a parent: each outermost bucket is counted once.
ReplayReport ReplayRecorder::Close(HistogramSnapshot latency) && {
  std::map<BucketKey, TargetPtr> outermost;
  for (const auto& targets : targets_) outermost[targets.back()->key] = targets.back();
  for (const auto& [key, target] : outermost) {
    report_.root_refill_per_minute += TokensPerMinute(*target, trace_.measured);
  }
  report_.latency = std::move(latency);
  return std::move(report_);
}

}  // namespace weir::app
