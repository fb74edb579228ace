// Which shard holds a hash key: a cache of ListShards that answers while it is being refreshed.
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
#include "weir/kinesis/hash_key.h"
#include "weir/kinesis/shard_ranges.h"
#include "weir/runtime/backoff.h"

namespace weir::kinesis {

/// One page of ListShards with the filter AT_LATEST.
struct ShardPage {
  std::vector<Shard> shards;
  std::string next_token;  ///< empty: the last page
};

struct ShardMapOptions {
  nanoseconds least_gap = std::chrono::seconds(1);  ///< from one listing to the next
  nanoseconds first_backoff = std::chrono::seconds(1);
  nanoseconds longest_backoff = std::chrono::seconds(30);  ///< REQUIRES: >= first_backoff > 0
  /// For so long after a listing no longer has a shard its range is still known.
  nanoseconds keep_closed = std::chrono::seconds(60);
  std::size_t most_shards = 100'000;  ///< a longer listing is refused
  std::size_t most_pages = 1'000;     ///< the same; a page may be empty
  /// The same: records that are put before the first listing wait for it.
  nanoseconds longest_listing = std::chrono::seconds(10);
};

/// A protocol without I/O: after each event ask Next what to do. One listing at a time, at most one
/// in `least_gap`; one that failed is repeated from its first page, after a random wait. What was
/// known goes on being answered meanwhile.
class ShardMap {
 public:
  ShardMap(const ShardMapOptions& options, std::uint64_t seed);

  /// The shard that holds `key` as of the last listing. Nothing before the first, and where the
  /// listing had a gap. Where a parent was listed beside its child, the child.
  std::optional<ShardId> ShardOf(HashKey key) const { return ranges_->ShardOf(key); }
  /// The ranges that ShardOf looks up. Immutable, so other threads may keep them: the next listing
  /// replaces the pointer.
  const std::shared_ptr<const ShardRanges>& ranges() const { return ranges_; }
  /// What a shard holds or, if it was closed lately, held.
  std::optional<HashRange> RangeOf(ShardId id) const;
  /// The first listing was read to its end, or failed.
  bool answered() const { return began_ || error_; }
  /// How many were read to their end.
  std::uint64_t listings() const { return listings_; }

  /// An answer to a request of this time does not fit: asks for a listing, unless one was begun
  /// since.
  void Doubt(Instant requested);

  struct Step {
    bool list = false;            ///< send ListShards, then OnListed
    std::string next_token;       ///< of its page; empty: the first
    std::optional<Instant> wake;  ///< ask again then; nothing: only after an event
  };
  Step Next(Instant now);
  void OnListed(Result<ShardPage> page, Instant now);
  /// Why the last listing failed, if it did.
  const std::optional<Error>& last_error() const { return error_; }

 private:
  struct Known {
    HashRange range;
    std::optional<Instant> closed;
  };

  Status Take(ShardPage page, Instant now);
  Status CheckNext(const ShardPage& page, Instant now);
  void Finish(Instant now);
  void ForgetClosed(Instant now);

  ShardMapOptions options_;
  Rng rng_;
  Backoff backoff_;
  std::shared_ptr<const ShardRanges> ranges_ = std::make_shared<const ShardRanges>();
  absl::flat_hash_map<std::uint64_t, Known> known_;

  bool wanted_ = true;
  bool asked_ = false;            // a page is on its way
  std::optional<Instant> began_;  // the listing that is in force
  Instant begins_{};              // the one under way or, before it, the earliest time for it
  std::vector<Shard> listing_;
  std::size_t pages_ = 0;  // of listing_
  std::string next_token_;
  std::optional<Error> error_;
  std::uint64_t listings_ = 0;
};

}  // namespace weir::kinesis
