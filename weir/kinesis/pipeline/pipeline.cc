// From a put to a request.
#include "weir/kinesis/pipeline/pipeline.h"

#include <algorithm>
#include <iterator>

#include "weir/runtime/deadline.h"

namespace weir::kinesis {
namespace {

/// A record that is granted shortly after its expiry, by less than this, is sent all the same: if a
/// shard has more load than it takes, each record that its budget is requested for is about to
/// expire.
constexpr nanoseconds kLateGrant = milliseconds(100);

// Sets `wake` to `other` if that is earlier.
void LowerTo(std::optional<Instant>& wake, const std::optional<Instant>& other) {
  if (other && (!wake || *other < *wake)) wake = other;
}

/// Returns when a record in flight with this expiry gets its result at the latest; nothing if it
/// never expires.
std::optional<Instant> LatestResult(const std::optional<Instant>& expires) {
  if (!expires || Deadline::Never().at() - *expires < kLastWait) return std::nullopt;
  return *expires + kLastWait;
}

}  // namespace

Pipeline::Pipeline(const PipelineOptions& options, std::uint64_t seed)
    : options_(options),
      rng_(seed),
      map_(options.shards, rng_.Next()),
      aggregator_(options.aggregator),
      collector_(options.collector),
      window_(options.window),
      retry_budget_(options.retry.budget) {
  if (options.ordered) gate_.emplace();
  if (options.shared_budget) budget_.emplace(*options.shared_budget, rng_.Next());
}

PipelineStep Pipeline::Put(UserRecord record, Instant now) {
  AddRecord(std::move(record), now);
  return Advance(now);
}

PipelineStep Pipeline::PutAll(std::vector<UserRecord> records, Instant now) {
  for (UserRecord& record : records) AddRecord(std::move(record), now);
  return Advance(now);
}

Instant Pipeline::InTime(Instant now, Instant expires) { return now + (expires - now) / 2; }

void Pipeline::AddRecord(UserRecord record, Instant now) {
  ++pending_;
  record.deadline = std::min(record.deadline, InTime(now, record.expires));
  map_.answered() ? AggregateRecord(std::move(record)) : AddUnmapped(std::move(record));
}

void Pipeline::AddUnmapped(UserRecord record) {
  unmapped_expire_ =
      unmapped_.empty() ? record.expires : std::min(unmapped_expire_, record.expires);
  unmapped_.push_back(std::move(record));
}

void Pipeline::AggregateUnmapped() {
  for (UserRecord& record : std::exchange(unmapped_, {})) AggregateRecord(std::move(record));
}

PipelineStep Pipeline::Flush(Instant now) {
  is_flushing_ = true;
  return Advance(now);
}

PipelineStep Pipeline::Advance(Instant now) {
  PipelineStep step;
  // The order matters: expired records leave before they could be sent, and granted records are
  // collected after that, so that they are sent although they may have expired.
  GiveUpExpired(now);
  ReportOverdue(now);
  ExpireWaiting(now);
  CollectRecords(std::exchange(granted_, {}), now);
  AggregateDueRetries(now);
  aggregator_.TakeDue(now, aggregated_);
  if (is_flushing_) aggregator_.TakeAll(aggregated_);
  PassLimiters(now);
  std::vector<Collector::Request> due;
  collector_.TakeDue(now, due);
  // While the rates of shards hold records back, records come in small portions, and a request for
  // each portion would be waste.
  if (is_flushing_ && lane_wakes_.empty()) collector_.TakeAll(due);
  for (Collector::Request& request : due) window_.Put(std::move(request));
  if (budget_) budget_->TakeRequests(now, step.budget_requests);
  while (!options_.sends_on_demand) {
    const auto send = TakeSend(now);
    if (!send) break;
    step.sends.push_back(*send);
  }
  ShardMap::Step map = map_.Next(now);
  if (map.list) step.list = std::move(map.next_token);
  map_wake_ = map.wake;
  is_flushing_ = is_flushing_ && pending_ > 0;
  step.results = std::exchange(results_, {});
  step.released = std::exchange(released_, {});
  step.wake = NextWake();
  // If requests go one at a time, the response to the one in flight is the next event.
  const bool is_paced = refusal_pace_.is_slow() && window_.NextWake() && window_.in_flight() == 0;
  if (is_paced && refusal_pace_.next() > now) LowerTo(step.wake, refusal_pace_.next());
  return step;
}

void Pipeline::AggregateRecord(UserRecord record) {
  const ExpectedShard expected = map_.ShardOf(record.hash);
  aggregator_.Put(std::move(record), expected, aggregated_);
}

// In ordered mode the gate comes between; records that it holds back expire there.
void Pipeline::PassGate() {
  for (KinesisRecord& record : std::exchange(aggregated_, {})) {
    if (gate_) {
      gate_->Put(std::move(record), passed_);
    } else {
      passed_.push_back(std::move(record));
    }
  }
}

// A loop, since records that expire here may go back through the aggregator and come out of it
// again.
void Pipeline::PassLimiters(Instant now) {
  PassGate();
  while (!passed_.empty() || (!lane_wakes_.empty() && lane_wakes_.begin()->first <= now)) {
    for (KinesisRecord& record : std::exchange(passed_, {})) {
      const ExpectedShard expected = record.shard;
      Lane& lane = LaneOf(expected, now);
      lane.limiter.Put(std::move(record));
      DrainLane(expected, lane, now);
    }
    while (!lane_wakes_.empty() && lane_wakes_.begin()->first <= now) {
      const ExpectedShard expected = lane_wakes_.begin()->second;
      DrainLane(expected, lanes_.at(expected), now);
    }
    PassGate();
  }
}

Pipeline::Lane& Pipeline::LaneOf(ExpectedShard expected, Instant now) {
  const auto known = lanes_.find(expected);
  if (known != lanes_.end()) return known->second;
  return lanes_.emplace(expected, Lane{ShardLimiter(options_.limiter, now), std::nullopt})
      .first->second;
}

void Pipeline::CollectRecords(std::vector<KinesisRecord> records, Instant now) {
  std::vector<Collector::Request> full;
  for (KinesisRecord& record : records) collector_.Put(std::move(record), now, full);
  for (Collector::Request& request : full) window_.Put(std::move(request));
}

PipelineStep Pipeline::OnBudget(ShardId shard, const BudgetDecision& decision, Instant now) {
  std::vector<KinesisRecord> granted;
  if (budget_) budget_->OnDecision(shard, decision, now, granted);
  for (KinesisRecord& record : granted) {
    if (record.expires > now - kLateGrant) {
      granted_.push_back(std::move(record));
    } else {
      ExpireRecord(std::move(record), now);
    }
  }
  return Advance(now);
}

void Pipeline::DrainLane(ExpectedShard expected, Lane& lane, Instant now) {
  if (budget_ && expected) lane.limiter.SetLead(budget_->lead());
  ShardLimiter::Drained drained = lane.limiter.Drain(now);
  for (KinesisRecord& record : drained.expired) ExpireRecord(std::move(record), now);
  if (budget_ && expected) {
    for (KinesisRecord& record : drained.admitted) budget_->Put(std::move(record));
  } else {
    CollectRecords(std::move(drained.admitted), now);
  }
  if (lane.wake) lane_wakes_.erase({*lane.wake, expected});
  lane.wake = lane.limiter.NextWake(now);
  if (lane.wake) lane_wakes_.emplace(*lane.wake, expected);
}

bool Pipeline::MaySend(Instant now) const {
  return !refusal_pace_.is_slow() || (window_.in_flight() == 0 && refusal_pace_.next() <= now);
}

std::optional<std::size_t> Pipeline::NextSend(Instant now) const {
  return MaySend(now) ? window_.NextBytes() : std::nullopt;
}

std::optional<PipelineStep::Send> Pipeline::TakeSend(Instant now) {
  if (!MaySend(now)) return std::nullopt;
  const auto sent = window_.Send(now);
  if (!sent) return std::nullopt;
  ++counts_.requests;
  counts_.kinesis_records += sent->records->size();
  return PipelineStep::Send{sent->id, sent->records};
}

std::optional<Instant> Pipeline::NextWake() const {
  std::optional<Instant> wake = map_wake_;
  if (!unmapped_.empty()) LowerTo(wake, unmapped_expire_);
  if (!retries_.empty()) LowerTo(wake, retries_.begin()->first);
  if (!ordered_retries_.empty()) LowerTo(wake, ordered_retries_.begin()->first);
  if (gate_) LowerTo(wake, gate_->NextWake());
  if (!lane_wakes_.empty()) LowerTo(wake, lane_wakes_.begin()->first);
  LowerTo(wake, aggregator_.NextWake());
  LowerTo(wake, collector_.NextWake());
  LowerTo(wake, window_.NextWake());
  LowerTo(wake, LatestResult(window_.OverdueWake()));
  if (budget_) LowerTo(wake, budget_->NextWake());
  if (!parked_.empty()) LowerTo(wake, parked_.begin()->first);
  return wake;
}

}  // namespace weir::kinesis
