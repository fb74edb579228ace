#include "weir/service/rule_targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "weir/model/reserved_allowance.h"

namespace weir::service {
namespace {

rules::Rule RuleOf(std::int64_t per_minute) {
  rules::Rule rule;
  rule.limits = {{"requests", PerMinute(per_minute)}};
  return rule;
}

BucketKey BucketOf(std::size_t number) {
  return {.entity = "user-" + std::to_string(number), .resource = "api"};
}

TEST(RuleTargetsTest, ReturnsTheBucketUnderTheLimitsOfTheRule) {
  rules::Rule rule = RuleOf(600);
  rule.limits[0].allowance = milliseconds(100);
  RuleTargets targets;
  const TargetPtr target = targets.TargetOf(rule, BucketOf(1));
  EXPECT_EQ(target->key, BucketOf(1));
  EXPECT_EQ(target->limits, ReserveAllowance(rule.limits));
}

TEST(RuleTargetsTest, ReturnsTheSameTargetAgain) {
  const rules::Rule rule = RuleOf(60);
  RuleTargets targets;
  const TargetPtr first = targets.TargetOf(rule, BucketOf(1));
  EXPECT_EQ(targets.TargetOf(rule, BucketOf(1)), first);
  EXPECT_NE(targets.TargetOf(rule, BucketOf(2)), first);
}

// The templates of two rules may yield one bucket; each rule is charged under its own limits.
TEST(RuleTargetsTest, SeparatesTheRulesOfABucket) {
  const rules::Rule slow = RuleOf(60);
  const rules::Rule fast = RuleOf(600);
  RuleTargets targets;
  targets.TargetOf(slow, BucketOf(1));
  EXPECT_EQ(targets.TargetOf(fast, BucketOf(1))->limits, fast.limits);
  EXPECT_EQ(targets.TargetOf(slow, BucketOf(1))->limits, slow.limits);
}

TEST(RuleTargetsTest, KeepsABoundedNumber) {
  const rules::Rule rule = RuleOf(60);
  RuleTargets targets;
  for (std::size_t i = 0; i < 2 * RuleTargets::kMaxTargets; ++i) {
    ASSERT_EQ(targets.TargetOf(rule, BucketOf(i))->key, BucketOf(i));
    ASSERT_LE(targets.size(), RuleTargets::kMaxTargets);
  }
}

}  // namespace
}  // namespace weir::service
