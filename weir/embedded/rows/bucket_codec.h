// Encodes buckets as text, for the tables `change` and `bucket` (docs/design/embedded.md).
//
// A change is a JSON array: [entity, resource, shard, time, limits, extras, use], or [entity,
// resource, shard] for a bucket that was removed.
//
// - `limits` is an object of limits by name, in order. Each is [tokens, remainder, consumed,
//   capacity, amount, period], all whole numbers, followed by remainder_period if it differs from
//   the period.
// - `extras` is {"limits":{...},"left":[last_left,left_full]}, as in ExtraMeters: the limits that
//   the configured target does not name, and the times of meters that were removed before they were
//   full. These limits have 8 numbers: the last two are remainder_period and time. Without extras,
//   the element is null if `use` follows, and otherwise absent.
// - `use` is absent if there is none. It is [hour, events, [used, ...], hours]: the open hour, in
//   hours since 1970, or -1; its events; the net millitokens of each limit, in the order of
//   `limits`. `hours` is BucketUse::more (the hours that have ended, and the part of the open hour
//   that is counted by name): absent if that is null, otherwise an array of
//   [hour, events, {"name": [used, overdrawn], ...}].
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weir/store/bucket/bucket_state.h"
#include "weir/store/bucket/bucket_store.h"

namespace weir {

/// Appends `text`, which is UTF-8, as a JSON string.
void AppendQuoted(std::string& out, std::string_view text);
/// Appends the `limits` of a bucket.
void AppendLimits(std::string& out, const BucketRecord& record);
/// Appends the `extras` of a bucket.
void AppendExtras(std::string& out, const ExtraMeters& extras);
/// Appends the `use` of a bucket.
void AppendUse(std::string& out, const BucketUse& use);

/// Collects changes into rows of the table `change`. A row is a JSON array of changes, of a few
/// megabytes at most. Not thread-safe.
class ChangeBatch {
 public:
  /// Adds the present state of a bucket; null means that it was removed.
  void Add(const BucketKey& key, const BucketState* state);
  void AddRemoved(const BucketKey& key);
  void Clear();

  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }  ///< number of changes
  std::size_t bytes() const;
  /// Returns the rows, each a complete JSON array. Valid until the next Add or Clear.
  std::vector<std::string_view> Rows() const;

 private:
  /// Appends a change: its key, then the output of `write_tail`, which is at most `max_tail_bytes`.
  template <class WriteTail>
  void Append(const BucketKey& key, std::size_t max_tail_bytes, WriteTail&& write_tail);

  std::vector<std::string> rows_;  // each ends in "]\n"
  std::size_t count_ = 0;
};

}  // namespace weir
