#include "weir/zae_table/testing/fleet_callers_fixture.h"

#include <algorithm>
#include <utility>

namespace weir::dynamo {
namespace {

constexpr nanoseconds kThought = std::chrono::microseconds(10);

bool IsBucket(const sim::Item& item) { return item.contains("rf"); }

}  // namespace

FleetCallers::FleetCallers(Fleet& fleet, nanoseconds run)
    : fleet_(fleet), end_(fleet.scheduler().clock().Now() + run) {}

const CallerTally& FleetCallers::AskInTurn(FleetProcess& process, CallerTerms terms) {
  return AskEvery(process, std::move(terms), nanoseconds(0));
}

const CallerTally& FleetCallers::AskEvery(FleetProcess& process, CallerTerms terms, nanoseconds gap,
                                          nanoseconds phase) {
  Caller& caller = callers_.emplace_back(Caller{process, std::move(terms), gap});
  fleet_.scheduler().At(fleet_.scheduler().clock().Now() + phase, [this, &caller] { Ask(caller); });
  return caller.tally;
}

void FleetCallers::Ask(Caller& caller) {
  auto& scheduler = caller.process.scheduler();
  const Instant now = scheduler.clock().Now();
  if (now >= end_ || caller.process.is_dead()) return;
  ++caller.tally.asked;
  const Deadline deadline = Deadline::At(now + caller.terms.patience);
  auto done = [this, &caller, now](const Result<Decision>& decision) {
    OnResult(caller, now, decision);
  };
  BucketStore& buckets = caller.process.buckets();
  if (caller.terms.keeps) {
    buckets.AcquireAndKeep(caller.terms.charges, caller.process.now(), deadline, std::move(done));
  } else {
    buckets.Acquire(caller.terms.charges, caller.process.now(), deadline, std::move(done));
  }
  if (caller.gap > nanoseconds(0)) {
    scheduler.At(now + caller.gap, [this, &caller] { Ask(caller); });
  }
}

void FleetCallers::OnResult(Caller& caller, Instant asked, const Result<Decision>& decision) {
  CallerTally& tally = caller.tally;
  auto& scheduler = caller.process.scheduler();
  const nanoseconds wait = scheduler.clock().Now() - asked;
  tally.longest = std::max(tally.longest, wait);
  tally.waits.emplace_back(asked, wait);
  if (!decision) {
    ++tally.failed;
  } else {
    ++(decision->admitted ? tally.admitted : tally.refused);
    tally.doubtful += decision->admitted && decision->maybe_charged_twice ? 1 : 0;
  }
  if (caller.gap > nanoseconds(0)) return;
  scheduler.At(scheduler.clock().Now() + kThought, [this, &caller] { Ask(caller); });
}

CallerTally FleetCallers::Sum() const {
  CallerTally sum;
  for (const Caller& caller : callers_) sum += caller.tally;
  return sum;
}

CallerTally& operator+=(CallerTally& sum, const CallerTally& other) {
  sum.asked += other.asked;
  sum.admitted += other.admitted;
  sum.refused += other.refused;
  sum.failed += other.failed;
  sum.doubtful += other.doubtful;
  sum.longest = std::max(sum.longest, other.longest);
  sum.waits.insert(sum.waits.end(), other.waits.begin(), other.waits.end());
  return sum;
}

TargetPtr OneLimit(std::string_view entity, const Quota& quota) {
  return MakeTarget({std::string(entity), "llm", 0}, {{"rps", quota}});
}

CallerTerms OneToken(const TargetPtr& target, nanoseconds patience) {
  return {.charges = {{target, {kMillitokens}}}, .patience = patience};
}

std::int64_t StoredTakes(const Fleet& fleet, std::string_view limit) {
  const std::string name = "b_" + std::string(limit) + "_tc";
  std::int64_t sum = 0;
  for (const auto& [key, stored] : fleet.table().items()) {
    if (!stored.now || !IsBucket(*stored.now) || !stored.now->contains(name)) continue;
    sum += stored.now->at(name).As<sim::Decimal>()->ToInt64().value_or(0);
  }
  return sum;
}

std::size_t LargestBucketItem(const Fleet& fleet) {
  std::size_t largest = 0;
  for (const auto& [key, stored] : fleet.table().items()) {
    if (!stored.now || !IsBucket(*stored.now)) continue;
    largest = std::max(largest, sim::SizeOf(*stored.now));
  }
  return largest;
}

std::int64_t WritesOn(const Fleet& fleet, std::string_view entity) {
  const std::string begin = std::string(kFleetNamespace) + "/BUCKET#" + std::string(entity) + "#";
  return std::ranges::count_if(fleet.table().stream(), [&](const sim::StreamRecord& record) {
    return record.key.at("PK").As<std::string>()->starts_with(begin);
  });
}

std::uint64_t Reads(const Fleet& fleet) {
  const sim::DynamoCounts& counts = fleet.server().counts();
  return counts.Requests("GetItem") + counts.Requests("BatchGetItem") + counts.Requests("Query");
}

}  // namespace weir::dynamo
