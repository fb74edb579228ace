#include "weir/zae_table/testing/zae_aggregator_fixture.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "weir/dynamodb/response_parser.h"
#include "weir/zae_table/bucket/bucket_image.h"
#include "weir/zae_table/testing/fleet_stream_fixture.h"

namespace weir::dynamo {
namespace {

constexpr std::int64_t kBusyPart = 5;  // busy if less than a fifth of `wcu` is left

Item ToDynamoItem(const sim::Item& item) {
  const nlohmann::json body = {{"Item", sim::WriteItem(item)}};
  return ReadItem(body.dump(), "Item").value().value_or(Item{});
}

Write UpdateTo(TableKey key) {
  return {.kind = Write::Kind::kUpdate, .key = std::move(key), .item = {}, .expression = {}};
}

// Returns the item that the aggregator creates for another shard: a copy of shard 0 with full
// limits.
Item CloneOf(const Item& shard0, const Keys& keys, const BucketKey& key, std::int64_t shards) {
  Item clone = keys.BucketIndexes(key);
  clone.insert(shard0.begin(), shard0.end());
  clone.insert_or_assign("shard_count", Of(shards));
  for (const std::string& limit : ZaeLimits(shard0)) {
    const std::int64_t capacity = ReadZaeMeter(shard0, limit)->capacity;
    const std::int64_t share = limit == kWriteLimit ? capacity : capacity / shards;
    clone.insert_or_assign(LimitAttribute(limit, "tk"), Of(share));
    clone.insert_or_assign(LimitAttribute(limit, "tc"), Of(0));
  }
  return clone;
}

}  // namespace

ZaeAggregator::ZaeAggregator(Fleet& fleet, std::uint64_t seed, nanoseconds interval, Instant end)
    : fleet_(fleet), sender_(fleet, nullptr, seed), interval_(interval), end_(end) {
  fleet_.scheduler().At(fleet_.scheduler().clock().Now() + interval_, [this] { Run(); });
}

void ZaeAggregator::Run() {
  const auto& stream = fleet_.table().stream();
  std::map<std::string, Change> changes;
  for (; read_ < stream.size(); ++read_) Collect(stream[read_], changes);
  for (auto& [partition, change] : changes) {
    change.last = ToDynamoItem(*change.last_image);
    const auto key = ParseBucketPartition(partition);
    if (!key) continue;
    Refill(*key, change);
    if (key->shard != 0) continue;
    Double(*key, change);
    if (ZaeShards(change.last) > change.shards_before) Propagate(*key, change);
  }
  auto& scheduler = fleet_.scheduler();
  if (scheduler.clock().Now() >= end_) return;
  scheduler.At(scheduler.clock().Now() + interval_, [this] { Run(); });
}

// Ignores new items.
void ZaeAggregator::Collect(const sim::StreamRecord& record,
                            std::map<std::string, Change>& changes) const {
  if (!record.before || !record.after || !record.after->contains("rf")) return;
  Change& change = changes[TextIn(*record.after, "PK")];
  if (change.shards_before == 0) {
    change.shards_before = std::max<std::int64_t>(NumberIn(*record.before, "shard_count"), 1);
  }
  for (const auto& [name, value] : *record.after) {
    if (!name.starts_with("b_") || !name.ends_with("_tk")) continue;
    const std::string limit = name.substr(2, name.size() - 5);
    const std::string counter = LimitAttribute(limit, "tc");
    change.consumed[limit] += NumberIn(*record.after, counter) - NumberIn(*record.before, counter);
  }
  change.last_image = &*record.after;
}

void ZaeAggregator::Refill(const BucketKey& key, const Change& change) {
  Write write = UpdateTo(sender_.keys().Bucket(key));
  Expression& e = write.expression;
  const UnixMillis now = sender_.now();
  bool qualifies = false;
  for (const auto& [limit, consumed] : change.consumed) {
    const auto meter = ReadZaeMeter(change.last, limit);
    if (!meter) continue;
    const std::int64_t gain = ZaeRefillUntil(change.last, *meter, now);
    if (gain <= 0 || meter->tokens + gain >= std::max<std::int64_t>(consumed, 0)) continue;
    qualifies = true;
    e.Add(LimitAttribute(limit, "tk"), gain);
    e.Require(LimitAttribute(limit, "tk"), "<=", meter->tokens);
  }
  if (!qualifies) return;
  const std::int64_t refilled = GetNumber(change.last, "rf").value_or(0);
  const auto valid_until = GetNumber(change.last, "vu");
  e.Set("rf", Of(std::max(now.value, refilled)));
  e.RequireEqual("rf", Of(refilled));
  e.RequireSame("vu", valid_until ? std::optional(Of(*valid_until)) : std::nullopt);
  sender_.Send({std::move(write)}, {}, [this](const ZaeResponse& response) {
    ++(response ? tally_.refills : tally_.lost_refills);
  });
}

void ZaeAggregator::Double(const BucketKey& key, const Change& change) {
  const auto writes = ReadZaeMeter(change.last, kWriteLimit);
  const std::int64_t shards = ZaeShards(change.last);
  if (!writes || 2 * shards > kMaxZaeShards) return;
  const std::int64_t left = writes->tokens + ZaeRefillUntil(change.last, *writes, sender_.now());
  if (left * kBusyPart >= writes->capacity) return;
  ++tally_.bumps;
  sender_.Send({ZaeBump(sender_.Pass(), key, shards)}, {}, [](const ZaeResponse&) {});
}

void ZaeAggregator::Propagate(const BucketKey& key, const Change& change) {
  const std::int64_t shards = std::min(ZaeShards(change.last), kMaxZaeShards);
  for (std::int64_t shard = 1; shard < shards; ++shard) {
    const BucketKey other{key.entity, key.resource, static_cast<std::uint32_t>(shard)};
    if (shard < change.shards_before) {
      Write write = UpdateTo(sender_.keys().Bucket(other));
      write.expression.Set("shard_count", Of(shards)).Require("shard_count", "<", shards);
      sender_.Send({std::move(write)}, {}, [](const ZaeResponse&) {});
      continue;
    }
    Write write{.kind = Write::Kind::kPut, .key = {}, .item = {}, .expression = {}};
    write.item = CloneOf(change.last, sender_.keys(), other, shards);
    write.expression.RequireAbsent("PK");
    sender_.Send({std::move(write)}, {},
                 [this](const ZaeResponse& response) { tally_.clones += response ? 1 : 0; });
  }
}

}  // namespace weir::dynamo
