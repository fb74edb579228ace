#include "weir/kinesis/pipeline/delivery_check.h"

#include <algorithm>

namespace weir::kinesis {
namespace {

bool HasOneHash(const KinesisRecord& record) {
  return std::ranges::all_of(record.records, [&](const UserRecord& user) {
    return user.hash == record.records.front().hash;
  });
}

bool IsInside(const KinesisRecord& record, const HashRange& range) {
  return std::ranges::all_of(record.records,
                             [&](const UserRecord& user) { return range.Contains(user.hash); });
}

// A younger shard than the expected one is a child of it. An older one that does not hold the key
// has responded before a resharding that the map already includes, or the stream was created again:
// ShardMap::Doubt knows which by the time of the request.
bool IsUnexpected(const KinesisRecord& record, ShardId actual, const ShardMap& map) {
  if (!record.shard || *record.shard == actual) return false;
  return *record.shard < actual || map.ShardOf(record.records.front().hash) != actual;
}

}  // namespace

DeliveryCheck CheckDelivery(const KinesisRecord& record, const Attempt& attempt,
                            const ShardMap& map) {
  using enum DeliveryCheck::Verdict;
  const ShardId actual = *attempt.shard;
  const std::optional<HashRange> range = map.RangeOf(actual);
  DeliveryCheck delivery{.doubt = !range || IsUnexpected(record, actual, map)};
  if (HasOneHash(record)) return delivery;
  if (map.WasMissingSince(attempt.began)) {
    delivery.verdict = kNeverKnown;
  } else if (!range || (map.WasListedBefore(attempt.began) &&
                        map.ShardOf(record.records.front().hash) != actual)) {
    delivery.verdict = kUnknown;
    delivery.doubt = true;
  } else if (!IsInside(record, *range)) {
    delivery.verdict = kMixed;
    delivery.doubt = true;
  }
  return delivery;
}

}  // namespace weir::kinesis
