// The targets of the buckets of rules that have limits of their own.
#pragma once

#include <cstddef>
#include <vector>

#include "weir/rules/rule.h"
#include "weir/store/bucket/bucket_key.h"
#include "weir/store/bucket/charge.h"

namespace weir::service {

/// Caches targets, so that all requests on a bucket get the same one: making a target copies the
/// limits of its rule, and a store compares the limits of a bucket whenever its target changes.
/// Each bucket has one slot, which it shares with other buckets: the slot holds the target of the
/// bucket that was used last. Not thread-safe.
class RuleTargets {
 public:
  /// The bound on the number of targets. A target with one limit takes about 300 bytes (by the
  /// sizes of its types).
  static constexpr std::size_t kSlots = 16'384;

  RuleTargets() : slots_(kSlots) {}

  /// Returns the target: the bucket under the limits of the rule, less their allowances
  /// (ReserveAllowance).
  /// REQUIRES: the rule has limits, and lives as long as this object.
  TargetPtr TargetOf(const rules::Rule& rule, BucketKey bucket);

 private:
  struct Slot {
    const rules::Rule* rule = nullptr;  ///< the templates of two rules may yield one bucket
    TargetPtr target{};                 ///< null if `rule` is
  };

  std::vector<Slot> slots_;
};

}  // namespace weir::service
