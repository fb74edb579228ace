#include "weir/service/rule_targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

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

// The templates of two rules may yield one bucket; each rule is charged under its own limits, also
// for the few of these buckets that have one slot under both rules.
TEST(RuleTargetsTest, SeparatesTheRulesOfABucket) {
  const rules::Rule slow = RuleOf(60);
  const rules::Rule fast = RuleOf(600);
  RuleTargets targets;
  for (std::size_t i = 0; i < 20 * RuleTargets::kSlots; ++i) {
    ASSERT_EQ(targets.TargetOf(slow, BucketOf(i))->limits, slow.limits);
    ASSERT_EQ(targets.TargetOf(fast, BucketOf(i))->limits, fast.limits);
  }
}

// Buckets whose slot is the same replace each other, and each gets its own target again.
TEST(RuleTargetsTest, ReturnsTheRightTargetOfMoreBucketsThanItKeeps) {
  const rules::Rule rule = RuleOf(60);
  RuleTargets targets;
  std::vector<std::weak_ptr<const Target>> made;
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < 2 * RuleTargets::kSlots; ++i) {
      const TargetPtr target = targets.TargetOf(rule, BucketOf(i));
      ASSERT_EQ(target->key, BucketOf(i));
      made.push_back(target);
    }
  }
  const auto is_kept = [](const auto& target) { return !target.expired(); };
  std::set<std::size_t> kept;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (is_kept(made[i])) kept.insert(i % (2 * RuleTargets::kSlots));
  }
  EXPECT_LE(kept.size(), RuleTargets::kSlots);
  EXPECT_GT(kept.size(), RuleTargets::kSlots / 2);
}

}  // namespace
}  // namespace weir::service
