#include "weir/kinesis/pipeline/record_outcomes.h"

#include <memory>

#include "weir/kinesis/pipeline/aggregator.h"
#include "weir/runtime/earliest.h"

namespace weir::kinesis {

void RecordOutcomes::OnStored(ParkedRecord stored, ShardMap& map, Instant now, Rng& rng) {
  const StoredDecision decision = DecideStored(stored, map, max_listings_, now);
  if (decision.doubt) map.Doubt(*decision.doubt);
  CarryOut(decision, std::move(stored), now, rng);
}

void RecordOutcomes::OnListed(ShardMap& map, Instant now, Rng& rng) {
  for (ParkedRecord& parked : parked_.TakeAll()) {
    ++parked.listings;
    OnStored(std::move(parked), map, now, rng);
  }
}

void RecordOutcomes::DecideExpired(Instant now, Rng& rng) {
  while (std::optional<ParkedRecord> parked = parked_.TakeExpired(now)) {
    const StoredDecision decision = DecideUnlisted(*parked);
    CarryOut(decision, *std::move(parked), now, rng);
  }
}

void RecordOutcomes::CarryOut(const StoredDecision& decision, ParkedRecord stored, Instant now,
                              Rng& rng) {
  switch (decision.next) {
    case StoredDecision::Next::kReport:
      return ReportStored(std::move(stored));
    case StoredDecision::Next::kPark:
      return parked_.Put(std::move(stored));
    case StoredDecision::Next::kSendAgain:
      stored.attempt.code = kWrongShard;
      stored.attempt.message = decision.message;
      const auto attempt = std::make_shared<const Attempt>(std::move(stored.attempt));
      return OnFailed(std::move(stored.record), {attempt, decision.kind}, now, rng);
  }
}

void RecordOutcomes::ReportStored(ParkedRecord stored) {
  retries_.OnStored(stored.record);
  EndTicket(stored.record.ticket);
  results_.AddStored(std::move(stored.record),
                     std::make_shared<const Attempt>(std::move(stored.attempt)),
                     stored.sequence_number);
}

void RecordOutcomes::OnFailed(KinesisRecord record, const AttemptFailure& failure, Instant now,
                              Rng& rng) {
  Unframe(record);
  RetryQueue::Decision decision =
      retries_.Put({record.ticket, std::move(record.records)}, failure, now, rng);
  for (UserRecord& user : decision.ended) results_.AddFailed(std::move(user));
  if (!decision.is_queued) EndTicket(record.ticket);
}

void RecordOutcomes::EndTicket(Ticket ticket) {
  if (ticket != 0) ended_.push_back(ticket);
}

void RecordOutcomes::EndRetries(const Attempts::Shared& closed) {
  results_.AddAllFailed(retries_.TakeAll(), closed, false);
}

// Parked records are stored. Consumers deliver a record that is not aggregated; it is not known
// whether they deliver an aggregate.
void RecordOutcomes::EndParked(const Attempts::Shared& closed) {
  for (ParkedRecord& parked : parked_.TakeAll()) {
    if (DecideUnlisted(parked).next == StoredDecision::Next::kReport) {
      ReportStored(std::move(parked));
    } else {
      results_.AddAllFailed(std::move(parked.record.records), closed, true);
    }
  }
}

std::optional<Instant> RecordOutcomes::NextWake() const {
  return EarliestOf({parked_.NextWake(), retries_.NextWake()});
}

}  // namespace weir::kinesis
