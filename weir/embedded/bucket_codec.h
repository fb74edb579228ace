// Buckets as text: what stands in the tables `change` and `bucket` (docs/design/embedded.md).
//
// A change is a JSON array, [entity, resource, shard, time, limits, extras], or [entity, resource,
// shard] for a bucket that was removed. `limits` is an object of limits by name, in order; each is
// [tokens, remainder, consumed, capacity, amount, period], all whole numbers, and the
// remainder_period if it is not the period. `extras` is left out if there are none, else
// {"limits":{...},"left":[last_left,left_full]}; its limits have 8 numbers, remainder_period and
// time last.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weir/store/bucket_state.h"
#include "weir/store/bucket_store.h"

namespace weir {

/// Appends a JSON string; `text` is UTF-8.
void AppendQuoted(std::string& out, std::string_view text);
/// Appends `limits` of a bucket.
void AppendLimits(std::string& out, const BucketRecord& record);
/// Appends `extras` of a bucket.
void AppendExtras(std::string& out, const ExtraMeters& extras);

/// Changes gathered into rows of the table `change`: JSON arrays of changes, of some megabytes at
/// most. Not thread-safe.
class ChangeBatch {
 public:
  /// The bucket's present state; null: it was removed.
  void Add(const BucketKey& key, const BucketState* state);
  void AddRemoved(const BucketKey& key);
  void Clear();

  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }  ///< of changes
  std::size_t bytes() const;
  /// Each a whole JSON array. Valid until the next Add or Clear.
  std::vector<std::string_view> Rows() const;

 private:
  template <class Rest>
  void Append(const BucketKey& key, std::size_t most, Rest&& rest);

  std::vector<std::string> rows_;  // each ends in "]\n"
  std::size_t count_ = 0;
};

}  // namespace weir
