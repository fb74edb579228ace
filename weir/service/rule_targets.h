// The targets of the buckets of rules that have limits of their own.
#pragma once

#include <absl/hash/hash.h>

#include <cstddef>

#include "weir/base/lru_map.h"
#include "weir/rules/rule.h"
#include "weir/store/bucket/bucket_key.h"
#include "weir/store/bucket/charge.h"

namespace weir::service {

/// Returns one target to all requests on a bucket: making one takes about as long as a decision in
/// memory, and a store compares the limits of a bucket only if a target is another one than before.
/// Keeps the targets of the kMaxTargets buckets that were used last, with about 500 bytes each. Not
/// thread-safe.
class RuleTargets {
 public:
  static constexpr std::size_t kMaxTargets = 10'000;

  RuleTargets() : targets_(kMaxTargets) {}

  /// Returns the bucket under the limits of the rule, less their allowances (ReserveAllowance).
  /// REQUIRES: the rule has limits, and lives as long as this object.
  TargetPtr TargetOf(const rules::Rule& rule, BucketKey bucket);

  std::size_t size() const { return targets_.size(); }

 private:
  struct Key {
    BucketKey bucket;
    const rules::Rule* rule;  ///< the templates of two rules may yield one bucket

    friend bool operator==(const Key&, const Key&) = default;
  };
  // Not HashOf, which is the same in every process: clients choose a part of the key.
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return absl::HashOf(key.bucket.entity, key.bucket.resource);
    }
  };

  LruMap<Key, TargetPtr, KeyHash> targets_;
};

}  // namespace weir::service
