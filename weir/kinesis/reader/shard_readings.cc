#include "weir/kinesis/reader/shard_readings.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::kinesis {

using Stage = ShardReading::Stage;

// Shards are processed together, since a child may be listed before its parent.
Status ShardReadings::OnListed(const std::vector<ReadShard>& shards, Instant now) {
  for (const ReadShard& shard : shards) {
    WEIR_RETURN_IF_ERROR(CheckReadable(shard));
    Add(shard, now);
  }
  for (const ReadShard& shard : shards) CloseParentsOf(shard, now);
  is_listed_ = true;
  if (options_.only && readings_.empty()) {
    return Fail(Code::kNotFound,
                fmt::format("the stream has no shard {}", FormatShardId(*options_.only)));
  }
  return {};
}

Status ShardReadings::CheckReadable(const ReadShard& shard) const {
  const auto known = readings_.find(shard.id);
  if (known == readings_.end() || !known->second.is_missing || shard.closed) return {};
  return Fail(Code::kNotFound,
              fmt::format("shard {} is listed, but the service knows no such shard: the stream was "
                          "deleted and created again, or it is about to be deleted",
                          FormatShardId(shard.id)));
}

// Pages of a listing are read at different times, so a shard may be listed as open next to its
// child. Read to its end as an open shard, it would hold up the child for ever.
void ShardReadings::CloseParentsOf(const ReadShard& child, Instant now) {
  for (const ShardId parent : child.parents) {
    const auto at = readings_.find(parent);
    if (at != readings_.end() && parent < child.id) MarkClosed(at->second, now);
  }
}

void ShardReadings::Add(const ReadShard& shard, Instant now) {
  if (options_.only && *options_.only != shard.id) return;
  if (const auto at = readings_.find(shard.id); at != readings_.end()) {
    if (shard.closed) MarkClosed(at->second, now);
    return;
  }
  ShardReading reading{.shard = shard, .failures = options_.failures};
  // Shards that are found after the first listing are read from their beginning.
  if (!is_listed_) reading.position = options_.from;
  // A closed shard gets no records after its current end.
  if (reading.position.at == Position::At::kLatest && shard.closed) {
    reading.stage = Stage::kEnded;
    ++ended_;
  }
  readings_.emplace(shard.id, std::move(reading));
}

// The children of the shard wait until it is read to its end for good.
void ShardReadings::MarkClosed(ShardReading& reading, Instant now) {
  reading.shard.closed = true;
  if (reading.stage == Stage::kCaughtUp) Schedule(reading, Stage::kReads, now);
}

void ShardReadings::BeginReady(Instant now) {
  for (auto& [id, reading] : readings_) {
    if (reading.stage == Stage::kWaits && IsReady(reading)) Schedule(reading, Stage::kBegins, now);
  }
}

bool ShardReadings::IsReady(const ShardReading& reading) const {
  return std::ranges::all_of(reading.shard.parents, [&](ShardId parent) {
    const auto at = readings_.find(parent);
    // Only parents with a lower number count: otherwise shards that name each other as parents
    // would never begin.
    return at == readings_.end() || parent >= reading.shard.id ||
           at->second.stage == Stage::kEnded || reading.position.at == Position::At::kLatest;
  });
}

void ShardReadings::Schedule(ShardReading& reading, Stage stage, Instant due) {
  reading.stage = stage;
  due_.emplace(due, reading.shard.id);
}

ShardReading& ShardReadings::TakeDue() {
  return readings_.at(due_.extract(due_.begin()).value().second);
}

std::optional<Instant> ShardReadings::NextWake() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

bool ShardReadings::End(ShardReading& reading, const std::vector<ReadShard>& children,
                        Instant now) {
  reading.stage = Stage::kEnded;
  ++ended_;
  if (reading.is_end_doubted) return true;
  reading.shard.closed = true;
  if (options_.only) return false;
  const auto known = [&](ShardId id) { return readings_.contains(id); };
  const bool all_known = std::ranges::all_of(
      children, [&](const ReadShard& child) { return std::ranges::all_of(child.parents, known); });
  // A child may have another parent that is not known yet. A listing shows whether the child must
  // wait for that parent.
  if (!all_known || (children.empty() && !HasChild(reading.shard.id))) return true;
  // The other parents of these children are closed, too, and may have records that are not read
  // yet.
  for (const ReadShard& child : children) {
    Add(child, now);
    for (const ShardId parent : child.parents) MarkClosed(readings_.at(parent), now);
  }
  return false;
}

std::vector<ShardReading*> ShardReadings::DecideDoubted(const std::vector<ReadShard>& shards) {
  std::vector<ShardReading*> doubted;
  for (auto& [id, reading] : readings_) {
    if (!std::exchange(reading.is_end_doubted, false)) continue;
    doubted.push_back(&reading);
    const bool is_listed = std::ranges::count(shards, id, &ReadShard::id) > 0;
    if (reading.shard.closed || !is_listed) continue;
    reading.stage = reading.iterator.empty() ? Stage::kBegins : Stage::kReads;
    --ended_;
  }
  return doubted;
}

bool ShardReadings::HasChild(ShardId parent) const {
  return std::ranges::any_of(readings_, [&](const auto& entry) {
    return std::ranges::count(entry.second.shard.parents, parent) > 0;
  });
}

}  // namespace weir::kinesis
