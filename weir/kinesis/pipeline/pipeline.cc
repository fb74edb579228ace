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
void Earlier(std::optional<Instant>& wake, const std::optional<Instant>& other) {
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
  Take(std::move(record), now);
  return Go(now);
}

PipelineStep Pipeline::PutAll(std::vector<UserRecord> records, Instant now) {
  for (UserRecord& record : records) Take(std::move(record), now);
  return Go(now);
}

Instant Pipeline::InTime(Instant now, Instant expires) { return now + (expires - now) / 2; }

void Pipeline::Take(UserRecord record, Instant now) {
  ++pending_;
  record.deadline = std::min(record.deadline, InTime(now, record.expires));
  map_.answered() ? Aggregate(std::move(record)) : KeepNewcomer(std::move(record));
}

void Pipeline::KeepNewcomer(UserRecord record) {
  newcomers_expire_ =
      unmapped_.empty() ? record.expires : std::min(newcomers_expire_, record.expires);
  unmapped_.push_back(std::move(record));
}

void Pipeline::TakeNewcomers() {
  for (UserRecord& record : std::exchange(unmapped_, {})) Aggregate(std::move(record));
}

PipelineStep Pipeline::Flush(Instant now) {
  hurries_ = true;
  return Go(now);
}

PipelineStep Pipeline::Go(Instant now) {
  PipelineStep step;
  // The order matters: expired records leave before they could be sent, and granted records are
  // collected after that, so that they are sent although they may have expired.
  GiveUpExpired(now);
  ReportOverdue(now);
  ExpireWaiting(now);
  Collect(std::exchange(granted_, {}), now);
  TakeAgain(now);
  aggregator_.TakeDue(now, aggregated_);
  if (hurries_) aggregator_.TakeAll(aggregated_);
  Limit(now);
  std::vector<Collector::Request> due;
  collector_.TakeDue(now, due);
  // While the rates of shards hold records back, records come in small portions, and a request for
  // each portion would be waste.
  if (hurries_ && lane_wakes_.empty()) collector_.TakeAll(due);
  for (Collector::Request& request : due) window_.Put(std::move(request));
  if (budget_) budget_->TakeAsks(now, step.asks);
  while (!options_.sends_on_demand) {
    const auto send = TakeSend(now);
    if (!send) break;
    step.sends.push_back(*send);
  }
  ShardMap::Step map = map_.Next(now);
  if (map.list) step.list = std::move(map.next_token);
  map_wake_ = map.wake;
  hurries_ = hurries_ && pending_ > 0;
  step.results = std::exchange(results_, {});
  step.released = std::exchange(released_, {});
  step.wake = Wake();
  // If requests go one at a time, the response to the one in flight is the next event.
  const bool is_paced = refusal_pace_.is_slow() && window_.Wake() && window_.in_flight() == 0;
  if (is_paced && refusal_pace_.next() > now) Earlier(step.wake, refusal_pace_.next());
  return step;
}

void Pipeline::Aggregate(UserRecord record) {
  const Place place = map_.ShardOf(record.hash);
  aggregator_.Put(std::move(record), place, aggregated_);
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
void Pipeline::Limit(Instant now) {
  PassGate();
  while (!passed_.empty() || (!lane_wakes_.empty() && lane_wakes_.begin()->first <= now)) {
    for (KinesisRecord& record : std::exchange(passed_, {})) {
      const Place place = record.shard;
      Lane& lane = LaneOf(place, now);
      lane.limiter.Put(std::move(record));
      Drain(place, lane, now);
    }
    while (!lane_wakes_.empty() && lane_wakes_.begin()->first <= now) {
      const Place place = lane_wakes_.begin()->second;
      Drain(place, lanes_.at(place), now);
    }
    PassGate();
  }
}

Pipeline::Lane& Pipeline::LaneOf(Place place, Instant now) {
  const auto known = lanes_.find(place);
  if (known != lanes_.end()) return known->second;
  return lanes_.emplace(place, Lane{ShardLimiter(options_.limiter, now), std::nullopt})
      .first->second;
}

void Pipeline::Collect(std::vector<KinesisRecord> records, Instant now) {
  std::vector<Collector::Request> full;
  for (KinesisRecord& record : records) collector_.Put(std::move(record), now, full);
  for (Collector::Request& request : full) window_.Put(std::move(request));
}

PipelineStep Pipeline::OnBudget(ShardId shard, const BudgetDecision& decision, Instant now) {
  std::vector<KinesisRecord> granted;
  if (budget_) budget_->OnAnswer(shard, decision, now, granted);
  for (KinesisRecord& record : granted) {
    if (record.expires > now - kLateGrant) {
      granted_.push_back(std::move(record));
    } else {
      Expire(std::move(record), now);
    }
  }
  return Go(now);
}

void Pipeline::Drain(Place place, Lane& lane, Instant now) {
  if (budget_ && place) lane.limiter.SetLead(budget_->lead());
  ShardLimiter::Drained drained = lane.limiter.Drain(now);
  for (KinesisRecord& record : drained.expired) Expire(std::move(record), now);
  if (budget_ && place) {
    for (KinesisRecord& record : drained.admitted) budget_->Put(std::move(record));
  } else {
    Collect(std::move(drained.admitted), now);
  }
  if (lane.wake) lane_wakes_.erase({*lane.wake, place});
  lane.wake = lane.limiter.Wake(now);
  if (lane.wake) lane_wakes_.emplace(*lane.wake, place);
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

std::optional<Instant> Pipeline::Wake() const {
  std::optional<Instant> wake = map_wake_;
  if (!unmapped_.empty()) Earlier(wake, newcomers_expire_);
  if (!again_.empty()) Earlier(wake, again_.begin()->first);
  if (!held_.empty()) Earlier(wake, held_.begin()->first);
  if (gate_) Earlier(wake, gate_->Wake());
  if (!lane_wakes_.empty()) Earlier(wake, lane_wakes_.begin()->first);
  Earlier(wake, aggregator_.Wake());
  Earlier(wake, collector_.Wake());
  Earlier(wake, window_.Wake());
  Earlier(wake, LatestResult(window_.OverdueWake()));
  if (budget_) Earlier(wake, budget_->Wake());
  if (!parked_.empty()) Earlier(wake, parked_.begin()->first);
  return wake;
}

}  // namespace weir::kinesis
