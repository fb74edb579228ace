#include "weir/aggregator/replay/replay_range.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/dynamodb/streams/sequence_number.h"

namespace weir::dynamo {
namespace {

constexpr std::size_t kMaxShardsNamed = 10;

Error UnknownShard(const std::string& shard, const StoredLeases& stored) {
  std::string known;
  std::size_t count = 0;
  for (const ShardLease& lease : stored.leases) {
    if (lease.shard == kInitializedLease || ++count > kMaxShardsNamed) continue;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", lease.shard);
  }
  return {Code::kNotFound,
          fmt::format("shard '{}' of the stream was never read, or was removed; known are: {}",
                      shard, known.empty() ? "none" : known)};
}

}  // namespace

Status CheckRange(const ReplayRange& range) {
  if (!IsEarlier(range.to, range.from)) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("the range ends at {}, before it begins at {}", range.to, range.from));
}

Status CheckRead(const ReplayRange& range, const StoredLeases& stored) {
  const auto damaged = std::ranges::find(stored.damaged, range.shard, &DamagedLease::shard);
  if (damaged != stored.damaged.end()) return Fail(damaged->error);
  const auto lease = std::ranges::find(stored.leases, range.shard, &ShardLease::shard);
  if (lease == stored.leases.end()) return Fail(UnknownShard(range.shard, stored));
  const ShardPosition& position = lease->position;
  if (position.at == ShardPosition::At::kEnd) return {};
  const bool is_record = position.at == ShardPosition::At::kAfter;
  if (is_record && !IsEarlier(position.sequence_number, range.to)) return {};
  return Fail(Code::kFailedPrecondition,
              fmt::format("shard {} was read up to {}: later records are counted by 'weir "
                          "aggregate', not by a replay",
                          range.shard, is_record ? position.sequence_number : "no record"));
}

bool HasRecordFrom(const ReplayRange& range, const ChangeBatch& batch) {
  const auto is_from = [&](const auto& record) {
    return !IsEarlier(record.sequence_number, range.from);
  };
  return std::ranges::any_of(batch.records, is_from) || std::ranges::any_of(batch.damaged, is_from);
}

bool Clip(const ReplayRange& range, ChangeBatch& batch) {
  bool is_last = false;
  const auto is_outside = [&](const auto& record) {
    is_last |= !IsEarlier(record.sequence_number, range.to);
    return IsEarlier(record.sequence_number, range.from) ||
           IsEarlier(range.to, record.sequence_number);
  };
  std::erase_if(batch.records, is_outside);
  std::erase_if(batch.damaged, is_outside);
  return is_last;
}

}  // namespace weir::dynamo
