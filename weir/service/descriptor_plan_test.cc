#include "weir/service/descriptor_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envoy/service/ratelimit/v3/rls.pb.h"
#include "weir/rules/rules_file.h"

namespace weir::service {
namespace {

using envoy::service::ratelimit::v3::RateLimitRequest;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kPlanRules[] = "domains: {edge: {rules: [{match: user, limits: {requests: 10}}]}}";

// Returns the message of the error for a request that states a limit with this unit, which Envoy's
// enumeration need not have.
std::string ErrorOfUnit(std::uint64_t unit) {
  RateLimitRequest request;
  request.set_domain("edge");
  auto& descriptor = *request.add_descriptors();
  auto& entry = *descriptor.add_entries();
  entry.set_key("user");
  entry.set_value("ann");
  auto& limit = *descriptor.mutable_limit();
  limit.set_requests_per_unit(5);
  limit.mutable_unknown_fields()->AddVarint(2, unit);
  RateLimitRequest received;
  EXPECT_TRUE(received.ParseFromString(request.SerializeAsString()));
  const auto rules = rules::ParseRules(kPlanRules, "rules.yaml");
  RuleTargets targets;
  const auto plan = PlanDescriptors(received, *rules, targets, CheckKind::kShouldRateLimit);
  return plan ? "" : plan.error().message;
}

// Fails if: the message offers a unit that is refused, or reports another unit than the request's.
TEST(PlanDescriptors, AUnitThatIsMissingOrUnknownIsRefusedWithThoseThatExist) {
  EXPECT_EQ(ErrorOfUnit(6), "");
  for (const std::uint64_t unit : {0U, 7U, 200U}) {
    EXPECT_THAT(ErrorOfUnit(unit),
                AllOf(HasSubstr("the unit of a limit is missing or unknown; it must be 1 (second)"),
                      HasSubstr("6 (year)"), Not(HasSubstr("week"))));
  }
}

}  // namespace
}  // namespace weir::service
