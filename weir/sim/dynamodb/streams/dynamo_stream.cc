#include "weir/sim/dynamodb/streams/dynamo_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "weir/base/integer_text.h"

namespace weir::sim {
namespace {

constexpr std::size_t kMaxReadsPerSecond = 5;
constexpr std::size_t kStreamSequenceDigits = 22;

// FNV-1a, so that a shard of a key does not depend on the standard library.
std::uint32_t HashText(std::string_view text) {
  std::uint32_t hash = 2'166'136'261;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619;
  return hash;
}

}  // namespace

bool DynamoShard::Has(const StreamRecord& record, std::uint32_t hash) const {
  return hash >= low && hash <= high && record.sequence >= first &&
         (!end || record.sequence < *end);
}

std::string DynamoStream::NewId() {
  return fmt::format("shardId-{:020}-00000000", shards_.size() + 1);
}

void DynamoStream::Replace(std::size_t index, bool split, const DynamoTable& table,
                           UnixMillis now) {
  if (shards_[index].end) return;
  shards_[index].end = table.stream().size() + 1;
  shards_[index].closed = now;
  DynamoShard child = shards_[index];
  child.parent = child.id;
  child.id = NewId();
  child.first = *child.end;
  child.end.reset();
  if (!split || child.low == child.high) return shards_.push_back(child);
  const std::uint32_t middle = child.low + (child.high - child.low) / 2;
  DynamoShard upper = child;
  child.high = middle;
  upper.low = middle + 1;
  shards_.push_back(child);
  upper.id = NewId();
  shards_.push_back(upper);
}

const DynamoShard* DynamoStream::Find(std::string_view id) const {
  const auto found = std::ranges::find(shards_, id, &DynamoShard::id);
  return found == shards_.end() ? nullptr : &*found;
}

bool DynamoStream::Contains(const DynamoShard& shard, const StreamRecord& record) const {
  return shard.Has(record, HashText(WriteItem(record.key).at(key_.partition).dump()));
}

bool DynamoStream::CountRead(const std::string& shard, Instant now) {
  std::deque<Instant>& reads = reads_[shard];
  while (!reads.empty() && now - reads.front() >= std::chrono::seconds(1)) reads.pop_front();
  if (reads.size() >= kMaxReadsPerSecond) return false;
  reads.push_back(now);
  return true;
}

std::string ToSequenceText(std::uint64_t number) { return fmt::format("1{:021}", number); }

std::optional<std::uint64_t> ReadSequenceText(std::string_view text) {
  if (text.size() != kStreamSequenceDigits || text.front() != '1') return std::nullopt;
  return ReadInteger<std::uint64_t>(text.substr(1));
}

}  // namespace weir::sim
