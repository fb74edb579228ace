#include "weir/kinesis/shard_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/base/integer_text.h"

namespace weir::kinesis {
namespace {

constexpr std::string_view kPrefix = "shardId-";

Status Check(const Shard& shard) {
  if (shard.range.first <= shard.range.last) return {};
  return Fail(Code::kDataLoss,
              fmt::format("ListShards: {} begins behind its end", FormatShardId(shard.id)));
}

}  // namespace

Result<ShardId> ParseShardId(std::string_view name) {
  if (name.starts_with(kPrefix)) {
    const auto number = ReadInteger<std::uint64_t>(name.substr(kPrefix.size()));
    if (number) return ShardId{*number};
  }
  return Fail(
      Code::kInvalidArgument,
      fmt::format("shard '{}': expected a name like shardId-000000000012", name.substr(0, 128)));
}

std::string FormatShardId(ShardId id) { return fmt::format("{}{:012}", kPrefix, id.number); }

ShardMap::ShardMap(const ShardMapOptions& options, std::uint64_t seed)
    : options_(options), rng_(seed), backoff_(options.first_backoff, options.longest_backoff) {}

std::optional<ShardId> ShardMap::ShardOf(HashKey key) const {
  const auto piece = pieces_.lower_bound(key);
  if (piece == pieces_.end() || key < piece->second.first) return std::nullopt;
  return piece->second.id;
}

std::optional<HashRange> ShardMap::RangeOf(ShardId id) const {
  const auto known = known_.find(id.number);
  if (known == known_.end()) return std::nullopt;
  return known->second.range;
}

void ShardMap::Doubt(Instant requested) {
  const bool under_way = asked_ || !next_token_.empty();
  const std::optional<Instant> newest = under_way ? std::optional(begins_) : began_;
  if (!newest || requested >= *newest) wanted_ = true;
}

ShardMap::Step ShardMap::Next(Instant now) {
  if (asked_) return {};
  const bool goes_on = !next_token_.empty();
  if (!goes_on && !wanted_) return {};
  if (now < begins_ && !goes_on) return {.wake = begins_};
  if (!goes_on) {
    wanted_ = false;
    begins_ = now;
  }
  asked_ = true;
  return {.list = true, .next_token = next_token_};
}

void ShardMap::OnListed(Result<ShardPage> page, Instant now) {
  asked_ = false;
  Status taken = page ? Take(std::move(*page)) : Status(Fail(std::move(page.error())));
  if (!taken) {
    error_ = std::move(taken.error());
    listing_.clear();
    next_token_.clear();
    wanted_ = true;
    begins_ = now + backoff_.Next(rng_);
  } else if (next_token_.empty()) {
    Finish(now);
  }
}

Status ShardMap::Take(ShardPage page) {
  for (const Shard& shard : page.shards) WEIR_RETURN_IF_ERROR(Check(shard));
  if (listing_.size() + page.shards.size() > options_.most_shards) {
    return Fail(Code::kResourceExhausted,
                fmt::format("ListShards: more than {} shards", options_.most_shards));
  }
  listing_.insert(listing_.end(), page.shards.begin(), page.shards.end());
  next_token_ = std::move(page.next_token);
  return {};
}

void ShardMap::Finish(Instant now) {
  for (auto& [number, known] : known_) {
    if (!known.closed) known.closed = now;
  }
  pieces_.clear();
  std::ranges::sort(listing_, std::ranges::greater(), &Shard::id);
  for (const Shard& shard : listing_) {
    known_[shard.id.number] = {.range = shard.range, .closed = std::nullopt};
    PutUncovered(shard);
  }
  listing_.clear();
  ForgetClosed(now);
  ++listings_;
  began_ = begins_;
  begins_ = begins_ + options_.least_gap;
  error_.reset();
  backoff_.Reset();
}

// Younger shards were put before: what they hold stays theirs.
void ShardMap::PutUncovered(const Shard& shard) {
  HashKey first = shard.range.first;
  auto next = pieces_.lower_bound(first);
  while (next != pieces_.end() && next->second.first <= shard.range.last) {
    if (first < next->second.first) {
      pieces_.emplace_hint(next, next->second.first - 1, Piece{first, shard.id});
    }
    if (next->first >= shard.range.last) return;
    first = next->first + 1;
    ++next;
  }
  pieces_.emplace_hint(next, shard.range.last, Piece{first, shard.id});
}

void ShardMap::ForgetClosed(Instant now) {
  absl::erase_if(known_, [&](const auto& entry) {
    const std::optional<Instant>& closed = entry.second.closed;
    return closed && now - *closed >= options_.keep_closed;
  });
}

}  // namespace weir::kinesis
