#include "weir/service/rule_targets.h"

#include <absl/hash/hash.h>

#include <utility>

#include "weir/model/reserved_allowance.h"

namespace weir::service {

TargetPtr RuleTargets::TargetOf(const rules::Rule& rule, BucketKey bucket) {
  Slot& slot = slots_[absl::HashOf(&rule, bucket.entity, bucket.resource) % kSlots];
  if (slot.rule == &rule && slot.target->key == bucket) return slot.target;
  slot = {.rule = &rule, .target = MakeTarget(std::move(bucket), ReserveAllowance(rule.limits))};
  return slot.target;
}

}  // namespace weir::service
