#include "weir/aggregator/testing/change_fixture.h"

#include <nlohmann/json.hpp>

#include "weir/dynamodb/response_parser.h"
#include "weir/zae_table/bucket/bucket_image.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

Item ToChangeItem(const sim::Item& item) {
  const nlohmann::json body = {{"Item", sim::WriteItem(item)}};
  return ReadItem(body.dump(), "Item").value().value_or(Item{});
}

ChangeRecord ToChange(const sim::StreamRecord& record) {
  ChangeRecord change;
  change.kind = !record.before  ? ChangeKind::kInsert
                : !record.after ? ChangeKind::kRemove
                                : ChangeKind::kModify;
  change.sequence_number = std::to_string(record.sequence);
  change.created = {record.at.value / 1000 * 1000};
  change.keys = ToChangeItem(record.key);
  if (record.before) change.old_image = ToChangeItem(*record.before);
  if (record.after) change.new_image = ToChangeItem(*record.after);
  change.expired = record.by_ttl;
  return change;
}

Item BucketItem(const BucketKey& bucket, const Consumed& consumed) {
  Item item = Keys("ns").BucketIndexes(bucket);
  item["rf"] = Of(std::int64_t{1'767'243'600'000});
  item["shard_count"] = Of(1);
  for (const auto& [limit, millitokens] : consumed) {
    item[LimitAttribute(limit, "tk")] = Of(1'000'000);
    item[LimitAttribute(limit, "cp")] = Of(1'000'000);
    item[LimitAttribute(limit, "ra")] = Of(1'000'000);
    item[LimitAttribute(limit, "rp")] = Of(60'000);
    item[LimitAttribute(limit, "tc")] = Of(millitokens);
  }
  return item;
}

ChangeRecord Changed(const BucketKey& bucket, std::uint64_t sequence, const Consumed& before,
                     const Consumed& after, UnixMillis at) {
  return {.kind = ChangeKind::kModify,
          .sequence_number = std::to_string(sequence),
          .created = at,
          .keys = ToItem(Keys("ns").Bucket(bucket)),
          .old_image = BucketItem(bucket, before),
          .new_image = BucketItem(bucket, after)};
}

ChangeRecord Inserted(const BucketKey& bucket, std::uint64_t sequence, const Consumed& after) {
  ChangeRecord record = Changed(bucket, sequence, {}, after);
  record.kind = ChangeKind::kInsert;
  record.old_image.clear();
  return record;
}

}  // namespace weir::dynamo
