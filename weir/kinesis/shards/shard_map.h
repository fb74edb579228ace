// Finds the shard that holds a hash key: a cache of ListShards that stays usable while it is
// refreshed.
//
//     Doubt, or at the beginning          Next: at least least_gap after the last listing
//   idle ------------------------> wanted --------------------------+
//    ^                               ^                              v
//    |                               | failed: after a random     listing, page by page
//    |                               | wait, from the first page    |
//    |                               | or keys have no shard        |
//    |                               +------------------------------+
//    +--- last page: the ranges are replaced ------------------------+
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/kinesis/shards/shard_ranges.h"
#include "weir/kinesis/wire/hash_key.h"
#include "weir/runtime/backoff.h"

namespace weir::kinesis {

/// One page of ListShards with the filter AT_LATEST.
struct ShardPage {
  std::vector<Shard> shards;
  std::string next_token;  ///< empty: this is the last page
};

struct ShardMapOptions {
  /// The least time from the beginning of a listing to the beginning of the next one.
  nanoseconds least_gap = std::chrono::seconds(1);
  nanoseconds first_backoff = std::chrono::seconds(1);
  nanoseconds longest_backoff = std::chrono::seconds(30);  ///< REQUIRES: >= first_backoff > 0
  /// The range of a shard stays known for this time after a listing no longer has the shard.
  nanoseconds keep_closed = std::chrono::seconds(60);
  std::size_t max_shards = 100'000;  ///< a listing with more shards fails
  std::size_t max_pages = 1'000;     ///< a listing with more pages fails; a page may be empty
  /// A listing that takes longer fails, since records that are put before the end of the first
  /// listing wait for it.
  nanoseconds longest_listing = std::chrono::seconds(10);
};

/// A protocol without I/O; not thread-safe. After each event the caller calls Next and carries out
/// its step. One listing runs at a time, and at most one begins in `least_gap`. A listing that
/// failed, also one without shards, is repeated from its first page, after a random wait. The
/// ranges of the last listing are used meanwhile. A listing that leaves out a part of the hash keys
/// is used and, after such a wait, repeated until all keys have shards; a doubt ends this wait.
class ShardMap {
 public:
  ShardMap(const ShardMapOptions& options, std::uint64_t seed);

  /// Returns the shard that holds `key` by the last listing. If both a parent and its child were
  /// listed, this is the child. Returns nothing before the first listing has ended, and for keys
  /// that no listed shard holds.
  std::optional<ShardId> ShardOf(HashKey key) const { return ranges_->ShardOf(key); }
  /// Returns the ranges that ShardOf uses. They are immutable, so that other threads may keep them:
  /// the next listing replaces the pointer.
  const std::shared_ptr<const ShardRanges>& ranges() const { return ranges_; }
  /// Returns the range that a shard holds or, if it was closed lately, held; nothing if it is not
  /// known.
  std::optional<HashRange> RangeOf(ShardId id) const;
  /// Returns whether the shard holds its range by the last listing: it is listed, and no child is.
  bool IsOpen(ShardId id) const;
  /// Returns whether a listing has ended, with or without success.
  bool has_listing() const { return has_listing_; }
  /// Returns the number of listings that have replaced the ranges.
  std::uint64_t listings() const { return listings_; }

  /// Returns whether the listing of the ranges in use began at this time or before, so that the
  /// response to a request sent then should agree with them.
  bool WasListedBefore(Instant time) const { return began_ && *began_ <= time; }

  /// Reports that the response to a request sent at `requested` contradicts the map: causes a
  /// listing, unless one has begun since then.
  void Doubt(Instant requested);
  /// Reports that the stream did not exist at this time: another one may get its name, and shards
  /// with the same ids. Forgets all ranges, as before the first listing, and causes a listing; one
  /// that began before is ignored. Returns whether any range was known.
  bool OnStreamMissing(Instant at);
  /// Returns whether the stream was missing at this time or later, so that a response to a request
  /// sent then may be of a deleted stream.
  bool WasMissingSince(Instant time) const { return time <= missing_; }

  struct Step {
    bool list = false;            ///< send ListShards, then call OnListed
    std::string next_token;       ///< the token of the page to request; empty: the first
    std::optional<Instant> wake;  ///< call Next at this time; nothing: only after an event
  };
  /// Returns the action that is due at `now`.
  Step Next(Instant now);
  /// Handles the response to ListShards for one page.
  void OnListed(Result<ShardPage> page, Instant now);
  /// Returns why the last listing failed; nothing if it did not fail.
  const std::optional<Error>& last_error() const { return error_; }

 private:
  struct Known {
    HashRange range;
    std::optional<Instant> closed;  ///< the time at which a listing no longer had the shard
  };

  /// Adds a page to listing_.
  Status Take(ShardPage page, Instant now);
  /// Checks the bounds of a listing, and that this page does not name itself as the next.
  Status CheckNext(const ShardPage& page, Instant now);
  /// Returns whether listing_ cannot be of the stream whose ranges are known: within one stream, no
  /// shard gets another range or opens again.
  bool IsOfAnotherStream() const;
  /// Replaces the ranges by those of listing_.
  void Finish(Instant now);
  /// Ends the present listing, whether its shards are used or not.
  void EndListing();
  /// Causes another listing, after a random wait, if keys have no shard by the one that has ended.
  void RepeatIfIncomplete(Instant now);
  /// Ends the random wait of RepeatIfIncomplete: the next listing has only to keep least_gap.
  void EndRepeatWait();
  /// Forgets the ranges of shards that were closed keep_closed ago.
  void ForgetClosed(Instant now);

  ShardMapOptions options_;
  Rng rng_;
  Backoff backoff_;
  std::shared_ptr<const ShardRanges> ranges_ = std::make_shared<const ShardRanges>();
  /// By shard number: open shards and those closed lately.
  absl::flat_hash_map<std::uint64_t, Known> known_;

  /// The stream was missing at this time: a listing that began before may be of a deleted one.
  Instant missing_{INT64_MIN};

  bool wanted_ = true;            ///< a listing is to begin
  bool asked_ = false;            // a page is in flight
  bool waits_to_repeat_ = false;  // begins_ is the random time of RepeatIfIncomplete
  bool has_listing_ = false;      // a listing has ended
  std::optional<Instant> began_;  // the time at which the listing of the ranges in use began
  // When the present listing began or, if none runs, the earliest time for the next.
  Instant begins_{};
  std::vector<Shard> listing_;
  std::size_t pages_ = 0;  // the number of pages of listing_
  std::string next_token_;
  std::optional<Error> error_;
  std::uint64_t listings_ = 0;
};

}  // namespace weir::kinesis
