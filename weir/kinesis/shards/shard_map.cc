#include "weir/kinesis/shards/shard_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::kinesis {
namespace {

Status Check(const Shard& shard) {
  if (shard.range.first <= shard.range.last) return {};
  return Fail(Code::kDataLoss, fmt::format("ListShards: the range of {} begins after its end",
                                           FormatShardId(shard.id)));
}

}  // namespace

ShardMap::ShardMap(const ShardMapOptions& options, std::uint64_t seed)
    : options_(options), rng_(seed), backoff_(options.first_backoff, options.longest_backoff) {}

std::optional<HashRange> ShardMap::RangeOf(ShardId id) const {
  const auto known = known_.find(id.number);
  if (known == known_.end()) return std::nullopt;
  return known->second.range;
}

bool ShardMap::IsOpen(ShardId id) const {
  const std::optional<HashRange> range = RangeOf(id);
  return range && ShardOf(range->first) == id;
}

bool ShardMap::OnStreamMissing(Instant at) {
  missing_ = at;
  wanted_ = true;
  EndRepeatWait();
  ranges_ = std::make_shared<const ShardRanges>();
  return !std::exchange(known_, {}).empty();
}

void ShardMap::Doubt(Instant requested) {
  // A running listing is newer than the one in use.
  const bool is_running = asked_ || !next_token_.empty();
  const std::optional<Instant> newest = is_running ? std::optional(begins_) : began_;
  if (newest && requested < *newest) return;
  wanted_ = true;
  EndRepeatWait();
}

void ShardMap::EndRepeatWait() {
  if (std::exchange(waits_to_repeat_, false)) begins_ = *began_ + options_.least_gap;
}

ShardMap::Step ShardMap::Next(Instant now) {
  if (asked_) return {};
  const bool has_next_page = !next_token_.empty();
  if (!has_next_page && !wanted_) return {};
  // Only the first page waits for its time; the others follow at once.
  if (now < begins_ && !has_next_page) return {.wake = begins_};
  if (!has_next_page) {
    wanted_ = false;
    waits_to_repeat_ = false;
    begins_ = now;
  }
  asked_ = true;
  return {.list = true, .next_token = next_token_};
}

void ShardMap::OnListed(Result<ShardPage> page, Instant now) {
  asked_ = false;
  Status status = page ? Take(std::move(*page), now) : Status(Fail(std::move(page.error())));
  if (!status) {
    error_ = std::move(status.error());
    // The next try begins at the first page. The ranges in use stay.
    listing_.clear();
    pages_ = 0;
    next_token_.clear();
    wanted_ = true;
    begins_ = now + backoff_.Next(rng_);
    has_listing_ = true;
  } else if (next_token_.empty()) {
    const bool is_used = begins_ >= missing_;
    if (is_used) Finish(now);
    EndListing();
    if (is_used) RepeatIfIncomplete(now);
    has_listing_ = true;
  }
}

Status ShardMap::Take(ShardPage page, Instant now) {
  for (const Shard& shard : page.shards) WEIR_RETURN_IF_ERROR(Check(shard));
  if (listing_.size() + page.shards.size() > options_.max_shards) {
    return Fail(Code::kResourceExhausted,
                fmt::format("ListShards: more than {} shards", options_.max_shards));
  }
  WEIR_RETURN_IF_ERROR(CheckNext(page, now));
  if (page.next_token.empty() && page.shards.empty() && listing_.empty()) {
    return Fail(Code::kDataLoss, "ListShards: it lists no shard, and each stream has one");
  }
  listing_.insert(listing_.end(), page.shards.begin(), page.shards.end());
  next_token_ = std::move(page.next_token);
  return {};
}

// The pages of a listing could go on without end: a token may be followed by another one, or by
// itself.
Status ShardMap::CheckNext(const ShardPage& page, Instant now) {
  if (++pages_ > options_.max_pages) {
    return Fail(Code::kResourceExhausted,
                fmt::format("ListShards: more than {} pages", options_.max_pages));
  }
  if (page.next_token.empty()) return {};
  if (page.next_token == next_token_) {
    return Fail(Code::kDataLoss, "ListShards: a page names itself as the next one");
  }
  if (now - begins_ < options_.longest_listing) return {};
  const auto limit = std::chrono::duration_cast<milliseconds>(options_.longest_listing);
  return Fail(
      Code::kDeadlineExceeded,
      fmt::format("ListShards: no last page after {} pages and {} ms", pages_, limit.count()));
}

bool ShardMap::IsOfAnotherStream() const {
  return std::ranges::any_of(listing_, [this](const Shard& shard) {
    const auto known = known_.find(shard.id.number);
    return known != known_.end() && (known->second.range != shard.range || known->second.closed);
  });
}

void ShardMap::Finish(Instant now) {
  if (IsOfAnotherStream()) known_.clear();
  // Shards that this listing has are set to open again below.
  for (auto& [number, known] : known_) {
    if (!known.closed) known.closed = now;
  }
  // From the youngest shard to the oldest, so that keys of a child do not go to its parent.
  std::ranges::sort(listing_, std::ranges::greater(), &Shard::id);
  const auto ranges = std::make_shared<ShardRanges>();
  for (const Shard& shard : listing_) {
    known_[shard.id.number] = {.range = shard.range, .closed = std::nullopt};
    ranges->PutUncovered(shard);
  }
  ranges_ = ranges;
  ForgetClosed(now);
  ++listings_;
  began_ = begins_;
}

void ShardMap::EndListing() {
  listing_.clear();
  pages_ = 0;
  // The gap counts from the beginning of this listing.
  begins_ = begins_ + options_.least_gap;
  error_.reset();
}

void ShardMap::RepeatIfIncomplete(Instant now) {
  if (ranges_->CoverAllKeys()) return backoff_.Reset();
  // Each key of a stream has a shard, so the listing has left one out. A record of such a key has
  // no shard, and its response contradicts no range: only another listing can show the shard.
  if (std::exchange(wanted_, true)) return;  // a doubt does not wait that long
  begins_ = std::max(begins_, now + backoff_.Next(rng_));
  waits_to_repeat_ = true;
}

void ShardMap::ForgetClosed(Instant now) {
  absl::erase_if(known_, [&](const auto& entry) {
    const std::optional<Instant>& closed = entry.second.closed;
    return closed && now - *closed >= options_.keep_closed;
  });
}

}  // namespace weir::kinesis
