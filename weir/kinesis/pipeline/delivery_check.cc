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
  // Only a shard that is younger than the expected one is unexpected. An older shard has responded
  // before a resharding that the map already includes.
  const bool is_unexpected = record.shard && *record.shard < actual;
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
