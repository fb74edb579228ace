#include "weir/kinesis/pipeline/parked_records.h"

#include <fmt/format.h>

#include <utility>

#include "weir/kinesis/pipeline/delivery_check.h"

namespace weir::kinesis {

StoredDecision DecideStored(const ParkedRecord& stored, const ShardMap& map, int max_listings,
                            Instant now) {
  using Verdict = DeliveryCheck::Verdict;
  const std::optional<ShardId>& shard = stored.attempt.shard;
  if (!shard) return DecideUnlisted(stored);
  const DeliveryCheck delivery = CheckDelivery(stored.record, stored.attempt, map);
  StoredDecision decision;
  if (delivery.verdict == Verdict::kMixed) {
    decision.next = StoredDecision::Next::kSendAgain;
    decision.message = fmt::format("{} does not hold all of its hash keys", FormatShardId(*shard));
  } else if (delivery.verdict == Verdict::kUnknown && stored.listings < max_listings) {
    decision.next = StoredDecision::Next::kPark;
  } else if (delivery.verdict != Verdict::kStored) {
    decision = DecideUnlisted(stored);
  }
  // If the range is unknown, a listing that has begun since the attempt did not return it either.
  // So a new listing is needed.
  const bool is_unknown = delivery.verdict == Verdict::kUnknown;
  if (delivery.doubt) decision.doubt = is_unknown ? now : stored.attempt.began;
  return decision;
}

// It is not known whether consumers deliver the record. A record that is not aggregated is
// delivered in any case; an aggregate is sent again, and may then be delivered twice.
StoredDecision DecideUnlisted(const ParkedRecord& stored) {
  if (stored.record.records.size() == 1) return {};
  return {.next = StoredDecision::Next::kSendAgain,
          .kind = FailureClass::kAmbiguous,
          .message = "the shard that stored the record may not hold the whole key range"};
}

void ParkedRecords::Put(ParkedRecord record) {
  const Instant expires = record.record.expires;
  records_.emplace(expires, std::move(record));
}

std::optional<ParkedRecord> ParkedRecords::TakeExpired(Instant now) {
  if (records_.empty() || records_.begin()->first > now) return std::nullopt;
  return std::move(records_.extract(records_.begin()).mapped());
}

std::vector<ParkedRecord> ParkedRecords::TakeAll() {
  std::vector<ParkedRecord> all;
  all.reserve(records_.size());
  for (auto& [expires, record] : std::exchange(records_, {})) all.push_back(std::move(record));
  return all;
}

std::optional<Instant> ParkedRecords::NextWake() const {
  if (records_.empty()) return std::nullopt;
  return records_.begin()->first;
}

}  // namespace weir::kinesis
