#include "weir/service/rule_targets.h"

#include <utility>

#include "weir/model/reserved_allowance.h"

namespace weir::service {

TargetPtr RuleTargets::TargetOf(const rules::Rule& rule, BucketKey bucket) {
  Key key{.bucket = std::move(bucket), .rule = &rule};
  if (const TargetPtr* found = targets_.Find(key)) return *found;
  TargetPtr target = MakeTarget(key.bucket, ReserveAllowance(rule.limits));
  targets_.Put(key, target);
  return target;
}

}  // namespace weir::service
