#include "weir/dynamodb/streams/stream_consumer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

namespace weir::dynamo {
namespace {

using At = ShardPosition::At;

/// Returns where the holder of a lease begins. Only the first holder may begin at the newest end. A
/// later holder would skip the records that were written meanwhile: it begins at the horizon, and
/// drops the records that are older than the lease.
ShardPosition BeginningFor(const ShardLease& lease) {
  const bool is_late = lease.position.at == At::kLatest && lease.epoch > 1;
  return is_late ? ShardPosition{At::kTrimHorizon, {}, lease.position.created} : lease.position;
}

std::optional<Error> ErrorOfUnstored(const std::vector<std::string>& shards) {
  constexpr std::size_t kMaxNamed = 10;
  if (shards.empty()) return std::nullopt;
  const std::size_t named = std::min(shards.size(), kMaxNamed);
  std::string names = fmt::format("{}", fmt::join(std::span(shards).first(named), ", "));
  if (shards.size() > named) names += fmt::format(" and {} more", shards.size() - named);
  return Error{Code::kUnavailable,
               fmt::format("the positions of {} are not known to be stored: the records after the "
                           "stored ones are read again",
                           names)};
}

}  // namespace

StreamConsumer::StreamConsumer(ConsumerOptions options, std::uint64_t seed)
    : options_(std::move(options)), rng_(seed), listing_(options_), leases_(options_) {}

ConsumerStep StreamConsumer::OnWake(Moment at) { return Finish({}, at); }

ConsumerStep StreamConsumer::OnResponse(std::uint64_t id, const Response& response, Moment at) {
  ConsumerStep step;
  Status status = HandleResponse(id, response, at, step);
  if (status) return Finish(std::move(step), at);
  step.done = true;
  step.error = std::move(status.error());
  return step;
}

ConsumerStep StreamConsumer::OnLeases(std::uint64_t id, LeasesRead leases, Moment at) {
  ConsumerStep step;
  ApplyChanges(leases_.OnRead(id, std::move(leases), at.now, rng_, step.events), step);
  return Finish(std::move(step), at);
}

ConsumerStep StreamConsumer::OnLeaseWritten(std::uint64_t id, const LeaseOutcome& outcome,
                                            Moment at) {
  ConsumerStep step;
  ApplyChanges(leases_.OnWrite(id, outcome, at.now, rng_, step.events), step);
  return Finish(std::move(step), at);
}

ConsumerStep StreamConsumer::OnCompleted(std::uint64_t batch, Moment at) {
  for (auto& [shard, owned] : owned_) {
    if (batch == 0 || owned.batch != batch) continue;
    owned.batch = 0;
    owned.reading.OnCompleted();
    leases_.SetPosition(shard, owned.reading.position());
  }
  return Finish({}, at);
}

ConsumerStep StreamConsumer::OnAbandoned(std::uint64_t batch, Moment at) {
  for (const auto& [shard, owned] : owned_) {
    if (owned.batch == batch && batch != 0) leases_.Release(shard);
  }
  return Finish({}, at);
}

ConsumerStep StreamConsumer::Drain(Moment at) {
  is_draining_ = true;
  leases_.Drain();
  return Finish({}, at);
}

Status StreamConsumer::HandleResponse(std::uint64_t id, const Response& response, Moment at,
                                      ConsumerStep& step) {
  if (id == 0) return {};
  if (id == listing_request_) return HandleListing(response, at, step);
  for (auto& [shard, owned] : owned_) {
    if (owned.request != id) continue;
    owned.request = 0;
    WEIR_RETURN_IF_ERROR(owned.reading.OnResponse(response, at, rng_, step.events));
    leases_.SetPosition(shard, owned.reading.position());
    if (owned.reading.is_missing()) listing_.Want(at.now);
    return {};
  }
  return {};
}

Status StreamConsumer::HandleListing(const Response& response, Moment at, ConsumerStep& step) {
  listing_request_ = 0;
  WEIR_ASSIGN_OR_RETURN(auto listed, listing_.OnResponse(response, at.now, rng_, step.events));
  if (!listed) return {};
  for (auto& [shard, owned] : owned_) {
    const bool is_listed =
        std::ranges::find(listed->shards, shard, &StreamShard::id) != listed->shards.end();
    owned.reading.OnListed(is_listed, listed->begun, at, rng_, step.events);
    leases_.SetPosition(shard, owned.reading.position());
    if (owned.reading.is_missing()) listing_.Want(at.now);
  }
  leases_.OnListing(std::move(listed->shards), listed->begun);
  return {};
}

void StreamConsumer::ApplyChanges(LeaseChanges changes, ConsumerStep& step) {
  for (ShardLost& lost : changes.lost) {
    owned_.erase(lost.shard);
    step.events.emplace_back(std::move(lost));
  }
  for (const std::string& shard : changes.released) owned_.erase(shard);
  for (ShardLease& lease : changes.taken) {
    owned_.erase(lease.shard);
    owned_.emplace(lease.shard, Owned{.reading = {lease.shard, BeginningFor(lease), options_},
                                      .epoch = lease.epoch});
  }
}

ConsumerStep StreamConsumer::Finish(ConsumerStep step, Moment at) {
  for (auto& [shard, owned] : owned_) ReleaseIfDue(shard, owned, at.now);
  step.lease_requests = leases_.MakeRequests(at, next_id_);
  if (const auto due = listing_.due(); due && *due <= at.now && !is_draining_) {
    step.requests.push_back(listing_.MakeRequest(at.now));
    step.requests.back().id = listing_request_ = next_id_++;
  }
  MakeShardRequests(at, step);
  DeliverBatches(at.now, step);
  step.wake = NextWake(at.now);
  step.done = is_draining_ && !leases_.HoldsAny(at.now);
  if (step.done) step.error = ErrorOfUnstored(leases_.FindUnstored());
  return step;
}

void StreamConsumer::ReleaseIfDue(const std::string& shard, Owned& owned, Instant now) {
  if (owned.batch != 0) return;
  if (owned.reading.is_ended()) {
    if (leases_.MayDeliver(shard, now)) listing_.Want(now);
  } else if (!leases_.ShouldRelease(shard, now)) {
    return;
  }
  leases_.Release(shard);
}

// The requests that are due first are made first, so that no shard waits for ever.
void StreamConsumer::MakeShardRequests(Moment at, ConsumerStep& step) {
  std::vector<std::pair<Instant, OwnedShards::iterator>> due;
  for (auto owned = owned_.begin(); owned != owned_.end(); ++owned) {
    const auto when = owned->second.reading.due();
    const bool is_due = when && *when <= at.now && leases_.MayDeliver(owned->first, at.now);
    if (is_due) due.emplace_back(*when, owned);
  }
  std::ranges::sort(due, {}, [](const auto& entry) { return entry.first; });
  std::size_t in_flight = CountInFlight();
  for (const auto& [when, owned] : due) {
    if (in_flight++ >= options_.max_in_flight) return;
    step.requests.push_back(owned->second.reading.MakeRequest(at));
    step.requests.back().id = owned->second.request = next_id_++;
  }
}

void StreamConsumer::DeliverBatches(Instant now, ConsumerStep& step) {
  if (is_draining_) return;
  for (auto& [shard, owned] : owned_) {
    if (!leases_.MayDeliver(shard, now)) continue;
    std::optional<ChangeBatch> batch = owned.reading.TakeBatch();
    if (!batch) continue;
    batch->id = owned.batch = next_id_++;
    batch->epoch = owned.epoch;
    step.batches.push_back(*std::move(batch));
  }
}

std::optional<Instant> StreamConsumer::NextWake(Instant now) const {
  std::optional<Instant> wake = leases_.NextWake();
  const auto add = [&](std::optional<Instant> due) {
    if (due) wake = std::min(wake.value_or(*due), *due);
  };
  if (!is_draining_) add(listing_.due());
  if (CountInFlight() >= options_.max_in_flight) return wake;
  for (const auto& [shard, owned] : owned_) {
    if (leases_.MayDeliver(shard, now)) add(owned.reading.due());
  }
  return wake;
}

std::size_t StreamConsumer::CountInFlight() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(owned_, [](const auto& item) { return item.second.request != 0; }));
}

}  // namespace weir::dynamo
