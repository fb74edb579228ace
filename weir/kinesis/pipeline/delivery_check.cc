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

}  // namespace

DeliveryCheck CheckDelivery(const KinesisRecord& record, ShardId actual, const ShardMap& map) {
  using enum DeliveryCheck::Verdict;
  const std::optional<HashRange> range = map.RangeOf(actual);
  // A younger shard is a child. An older one that does not hold the key has responded before a
  // resharding that the map already includes, or the stream was created again: ShardMap::Doubt
  // knows which by the time of the request.
  const bool is_unexpected =
      record.shard &&
      (*record.shard < actual ||
       (actual < *record.shard && map.ShardOf(record.records.front().hash) != actual));
  DeliveryCheck delivery{.doubt = is_unexpected || !range};
  if (HasOneHash(record)) return delivery;
  if (!range) {
    delivery.verdict = kUnknown;
  } else if (!IsInside(record, *range)) {
    delivery.verdict = kMixed;
    delivery.doubt = true;
  }
  return delivery;
}

}  // namespace weir::kinesis
