#include "weir/sim/kinesis/kinesis_stream.h"

#include <algorithm>

#include "weir/base/integer_text.h"

namespace weir::sim {
namespace {

constexpr std::string_view kShardPrefix = "shardId-";
constexpr std::string_view kSequencePrefix = "4964";
constexpr std::size_t kSequenceDigits = 52;

std::string Padded(std::uint64_t number, std::size_t digits) {
  const std::string text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

std::optional<std::uint64_t> ReadBehind(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return ReadInteger<std::uint64_t>(text.substr(prefix.size()));
}

}  // namespace

std::string ShardName(std::uint64_t number) {
  return std::string(kShardPrefix) + Padded(number, 12);
}

std::optional<std::uint64_t> ReadShardName(std::string_view name) {
  return ReadBehind(kShardPrefix, name);
}

std::string SequenceText(std::uint64_t sequence) {
  return std::string(kSequencePrefix) + Padded(sequence, kSequenceDigits);
}

std::optional<std::uint64_t> ReadSequence(std::string_view text) {
  if (text.size() != kSequencePrefix.size() + kSequenceDigits) return std::nullopt;
  return ReadBehind(kSequencePrefix, text);
}

KinesisStream::KinesisStream(std::string name, std::uint64_t shards, const KinesisLimits& limits,
                             Instant now)
    : name_(std::move(name)), limits_(limits) {
  const Hash128 width = kLastHash / shards;
  for (std::uint64_t i = 0; i < shards; ++i) {
    const Hash128 first = width * i;
    Add({first, i + 1 == shards ? kLastHash : first + width - 1}, {}, now);
  }
}

std::string KinesisStream::arn() const {
  return "arn:aws:kinesis:us-east-1:123456789012:stream/" + name_;
}

std::vector<std::uint64_t> KinesisStream::OpenShards() const {
  std::vector<std::uint64_t> open;
  for (const KinesisShard& shard : shards_) {
    if (shard.open()) open.push_back(shard.number);
  }
  return open;
}

KinesisShard& KinesisStream::ShardOf(Hash128 hash) {
  // The open shards cover the whole space.
  return *std::ranges::find_if(
      shards_, [&](const KinesisShard& shard) { return shard.open() && shard.range.Holds(hash); });
}

const StoredRecord& KinesisStream::Store(KinesisShard& shard, StoredRecord record) {
  record.sequence = next_sequence_++;
  return shard.log.emplace_back(std::move(record));
}

// The parent keeps its records and is closed. The children share its range.
bool KinesisStream::Split(std::uint64_t shard, Hash128 start, Instant now) {
  if (!IsOpen(shard)) return false;
  const HashSpan range = shards_[shard].range;
  if (start <= range.first || !range.Holds(start)) return false;
  Close(shard);
  Add({range.first, start - 1}, {shard}, now);
  Add({start, range.last}, {shard}, now);
  return true;
}

bool KinesisStream::Merge(std::uint64_t one, std::uint64_t other, Instant now) {
  if (!IsOpen(one) || !IsOpen(other)) return false;
  const HashSpan& a = shards_[one].range;
  const HashSpan& b = shards_[other].range;
  const bool beside = (a.last != kLastHash && a.last + 1 == b.first) ||
                      (b.last != kLastHash && b.last + 1 == a.first);
  if (!beside) return false;
  const HashSpan both{std::min(a.first, b.first), std::max(a.last, b.last)};
  Close(one);
  Close(other);
  Add(both, {one, other}, now);
  return true;
}

// A shard uses one sequence number for its start and one for its end, so both have an order among
// the records.
void KinesisStream::Add(HashSpan range, std::vector<std::uint64_t> parents, Instant now) {
  const std::uint64_t number = shards_.size();
  for (const std::uint64_t parent : parents) shards_[parent].children.push_back(number);
  shards_.push_back({.number = number,
                     .range = range,
                     .parents = std::move(parents),
                     .children = {},
                     .first_sequence = next_sequence_++,
                     .last_sequence = std::nullopt,
                     .log = {},
                     .quota = ShardQuota(limits_, now)});
}

void KinesisStream::Close(std::uint64_t shard) { shards_[shard].last_sequence = next_sequence_++; }

std::vector<Delivery> KinesisStream::Delivered() const {
  std::vector<Delivery> all;
  // Children have higher numbers than their parents.
  for (const KinesisShard& shard : shards_) {
    for (const StoredRecord& record : shard.log) {
      auto some = Deliver({.shard = ShardName(shard.number),
                           .range = shard.range,
                           .sequence_number = SequenceText(record.sequence),
                           .partition_key = record.partition_key,
                           .data = record.data});
      std::ranges::move(some, std::back_inserter(all));
    }
  }
  return all;
}

}  // namespace weir::sim
