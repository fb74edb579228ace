// From a response to results, or to a retry.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/kinesis/pipeline/delivery_check.h"
#include "weir/kinesis/pipeline/pipeline.h"

namespace weir::kinesis {
namespace {

/// One entry that the service does not accept makes it refuse the whole request.
bool MayBePoisoned(const AwsFailure& failure) {
  return failure.code == "ValidationException" || failure.code == "InvalidArgumentException" ||
         failure.code == "SerializationException" || failure.http_status == 413;
}

Attempts::Shared SharedAttempt(const Attempt& attempt) {
  return std::make_shared<const Attempt>(attempt);
}

// A request that may have been applied is ambiguous, whatever its error.
FailureClass ClassOf(const AwsFailure& failure) {
  if (failure.maybe_applied) return FailureClass::kAmbiguous;
  return failure.kind == FailureClass::kDeadline ? FailureClass::kTransient : failure.kind;
}

}  // namespace

PipelineStep Pipeline::OnAnswer(std::uint64_t id, PutAnswer answer, Instant now) {
  std::optional<RequestWindow::Flight> found = window_.Take(id);
  if (!found) return Advance(now);
  RequestWindow::Flight& flight = *found;
  if (!answer) {
    OnRequestFailed(std::move(flight), answer.error(), now);
    return Advance(now);
  }
  refusal_pace_.OnUnderstood();
  const bool matches = answer->size() == flight.records.size();
  for (std::size_t i = 0; i < flight.records.size(); ++i) {
    const Attempt attempt{.began = flight.began, .ended = now};
    EntryAnswer entry{.code = std::string(kCountMismatch),
                      .message = fmt::format("{} entries were sent and {} answered",
                                             flight.records.size(), answer->size())};
    if (matches) entry = std::move((*answer)[i]);
    OnEntry(std::move(flight.records[i]), std::move(entry), attempt);
  }
  SetRateWithoutShard(now);
  return Advance(now);
}

void Pipeline::OnEntry(KinesisRecord record, EntryAnswer answer, Attempt attempt) {
  if (answer.code.empty()) {
    const auto shard = ParseShardId(answer.shard);
    if (shard) attempt.shard = *shard;
    if (shard && !record.shard) sightings_.See(*shard, attempt.ended);
    return CheckStored({std::move(record), attempt, std::move(answer.sequence_number)},
                       attempt.ended);
  }
  attempt.code = std::move(answer.code);
  attempt.message = std::move(answer.message);
  const FailureClass kind = ClassOfEntry(attempt.code);
  if (kind == FailureClass::kThrottle) {
    ++counts_.throttled;
    LaneOf(record.shard, attempt.ended).limiter.OnThrottled(attempt.ended);
  }
  const Instant now = attempt.ended;
  TryAgain(std::move(record), std::make_shared<const Attempt>(std::move(attempt)), kind, now);
}

void Pipeline::OnRequestFailed(RequestWindow::Flight flight, const AwsFailure& failure,
                               Instant now) {
  const auto attempt = std::make_shared<const Attempt>(Attempt{
      .began = flight.began, .ended = now, .code = CodeOf(failure), .message = failure.message});
  // There was no connection, or no time for the request: the service has not received any of it.
  if (failure.http_status == 0 && !failure.maybe_applied) {
    --counts_.requests;
    counts_.kinesis_records -= flight.records.size();
  }
  if (MayBePoisoned(failure)) {
    refusal_pace_.OnRefused(now, rng_);
    if (flight.records.size() > 1) return SendInHalves(std::move(flight.records), attempt);
  }
  for (KinesisRecord& record : flight.records) {
    if (failure.kind == FailureClass::kThrottle) {
      ++counts_.throttled;
      LaneOf(record.shard, now).limiter.OnThrottled(now);
    }
    TryAgain(std::move(record), attempt, ClassOf(failure), now);
  }
}

// These attempts are reported if the record expires before it is alone in a request.
void Pipeline::AddHalvingAttempt(Collector::Request& records, const Attempts::Shared& attempt) {
  for (KinesisRecord& record : records) {
    for (UserRecord& user : record.records) {
      user.attempts.Add(attempt);
      ++user.halvings;
    }
  }
}

// One of the two halves is accepted; in the end the entry at fault is alone.
void Pipeline::SendInHalves(Collector::Request records, const Attempts::Shared& attempt) {
  AddHalvingAttempt(records, attempt);
  const auto middle = records.begin() + std::ssize(records) / 2;
  Collector::Request second(std::make_move_iterator(middle),
                            std::make_move_iterator(records.end()));
  records.erase(middle, records.end());
  window_.PutFirst(std::move(second));
  window_.PutFirst(std::move(records));
}

PipelineStep Pipeline::OnListed(Result<ShardPage> page, Instant now) {
  const std::uint64_t before = map_.listings();
  map_.OnListed(std::move(page), now);
  if (map_.listings() != before) ApplyShardList(now);
  if (map_.answered()) AggregateUnmapped();
  return Advance(now);
}

void Pipeline::ApplyShardList(Instant now) {
  std::erase_if(lanes_, [this](const auto& entry) {
    const auto& [expected, lane] = entry;
    return expected && lane.limiter.empty() && !map_.RangeOf(*expected);
  });
  RerouteWithoutShard(now);
  for (auto& [expires, parked] : std::exchange(parked_, {})) {
    ++parked.listings;
    CheckStored(std::move(parked), now);
  }
}

// The shards cannot be listed: the shards that have responded are the only known ones.
void Pipeline::SetRateWithoutShard(Instant now) {
  const auto lane = lanes_.find(std::nullopt);
  if (lane == lanes_.end()) return;
  lane->second.limiter.SetShards(sightings_.Count(now), now);
  if (!lane->second.limiter.empty()) DrainLane(std::nullopt, lane->second, now);
}

// Records that wait for batching without a shard can be aggregated by the new listing. In ordered
// mode all batches of the old listing leave first, so that older records of a key stay ahead.
void Pipeline::RerouteWithoutShard(Instant now) {
  std::vector<KinesisRecord> unplaced;
  aggregator_.TakeWithoutShard(unplaced);
  if (gate_) aggregator_.TakeAll(aggregated_);
  for (KinesisRecord& record : unplaced) {
    Unframe(record);
    for (UserRecord& user : record.records) AggregateRecord(std::move(user));
  }
  RerouteLaneWithoutShard(now);
}

// Records that wait for the rate of the whole stream have known shards now. In ordered mode they
// keep their positions.
void Pipeline::RerouteLaneWithoutShard(Instant now) {
  const auto lane = lanes_.find(std::nullopt);
  if (lane == lanes_.end()) return;
  std::vector<KinesisRecord> waiting;
  lane->second.limiter.TakeAll(waiting);
  if (lane->second.wake) lane_wakes_.erase({*lane->second.wake, std::nullopt});
  lane->second.wake.reset();
  for (KinesisRecord& record : waiting) ExpireRecord(std::move(record), now);
}

void Pipeline::CheckStored(Parked parked, Instant now) {
  const std::optional<ShardId>& shard = parked.attempt.shard;
  if (!shard) return GiveUpListing(std::move(parked), now);
  const DeliveryCheck delivery = CheckDelivery(parked.record, *shard, map_);
  // If the range is unknown, a listing that has begun since the attempt did not return it either,
  // so a new one is needed.
  const bool unknown = delivery.verdict == DeliveryCheck::Verdict::kUnknown;
  if (delivery.doubt) map_.Doubt(unknown ? now : parked.attempt.began);
  switch (delivery.verdict) {
    case DeliveryCheck::Verdict::kStored:
      return ReportStored(std::move(parked.record), SharedAttempt(parked.attempt),
                          parked.sequence_number);
    case DeliveryCheck::Verdict::kMixed:
      parked.attempt.code = kWrongShard;
      parked.attempt.message =
          fmt::format("{} does not hold all of its hash keys", FormatShardId(*shard));
      return TryAgain(std::move(parked.record), SharedAttempt(parked.attempt),
                      FailureClass::kTransient, now);
    case DeliveryCheck::Verdict::kUnknown:
      if (parked.listings >= options_.most_listings) return GiveUpListing(std::move(parked), now);
      const Instant expires = parked.record.expires;
      parked_.emplace(expires, std::move(parked));
  }
}

// The record is stored, but it is not known whether consumers deliver it. A record that is not
// aggregated is delivered in any case; an aggregate is sent again, and may then be delivered twice.
void Pipeline::GiveUpListing(Parked parked, Instant now) {
  if (parked.record.records.size() == 1) {
    return ReportStored(std::move(parked.record), SharedAttempt(parked.attempt),
                        parked.sequence_number);
  }
  parked.attempt.code = kWrongShard;
  parked.attempt.message = "the shard that stored the record may not hold the whole key range";
  TryAgain(std::move(parked.record), SharedAttempt(parked.attempt), FailureClass::kAmbiguous, now);
}

void Pipeline::ReportStored(KinesisRecord record, const Attempts::Shared& attempt,
                            const std::string& sequence_number) {
  const bool framed = record.records.size() > 1;
  std::uint64_t index = 0;
  const UserRecord& first = record.records.front();
  retry_budget_.OnStored(first.attempts.count() - first.halvings + 1);
  for (UserRecord& user : record.records) {
    const std::uint64_t sub_number = index++;
    if (ReleaseIfReported(user)) continue;
    user.attempts.Add(attempt);
    RecordResult& result = results_.emplace_back();
    result = {.number = user.number,
              .stored = true,
              .shard = attempt->shard,
              .sequence_number = sequence_number,
              .attempts = std::move(user.attempts),
              .maybe_duplicate = user.maybe_duplicate};
    if (framed) result.sub_number = sub_number;
    --pending_;
  }
  if (gate_) gate_->Done(record.ticket, passed_);
}

}  // namespace weir::kinesis
