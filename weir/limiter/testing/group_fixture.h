// A test fixture: groups at a limiter on a ProbeBackend, in simulated time.
#pragma once

#include <gtest/gtest.h>

#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/limiter/testing/waiting_fixture.h"

namespace weir {

/// As WaitingTest: every entity has 10 rpm. Resources other than "gpt-4" have the same limits.
class GroupTest : public WaitingTest {
 protected:
  void TearDown() override {
    outcomes_.clear();
    WaitingTest::TearDown();
  }

  static AcquirePart Rpm(std::string_view entity, std::int64_t amount) {
    return {.entity = entity, .resource = "gpt-4", .amounts = {{"rpm", amount}}};
  }
  static AcquirePart Given(TargetPtr target, Amounts amounts) {
    return {
        .entity = {}, .resource = {}, .amounts = std::move(amounts), .target = std::move(target)};
  }
  /// Returns the limits of a rule on the bucket (`entity`, "rule").
  static TargetPtr Rule(std::string entity, std::int64_t capacity) {
    return MakeTarget({.entity = std::move(entity), .resource = "rule"}, RpmLimits(capacity));
  }

  /// Returns the result once it has arrived.
  std::optional<Result<GroupOutcome>>& AskAll(std::vector<AcquirePart> parts,
                                              Deadline deadline = Deadline::Never()) {
    auto& outcome = outcomes_.emplace_back();
    limiter_->AcquireAll({.parts = parts}, deadline, [&](Result<GroupOutcome> got) {
      EXPECT_FALSE(outcome.has_value()) << "one result each";
      outcome = std::move(got);
    });
    return outcome;
  }
  /// Returns the decision; if there is none, fails the test and returns a refusal.
  GroupOutcome& Decided(std::vector<AcquirePart> parts) {
    auto& outcome = AskAll(std::move(parts));
    const bool is_decided = outcome.has_value() && *outcome;
    EXPECT_TRUE(is_decided) << (outcome ? outcome->error().message : "no result");
    if (!is_decided) outcome.emplace(GroupOutcome{Outcome({}, {}), {}});
    return **outcome;
  }
  /// Requests the parts; the lease is committed when the test ends.
  bool TakeAll(std::vector<AcquirePart> parts) {
    return Decided(std::move(parts)).outcome.admitted();
  }
  Error ErrorOf(std::vector<AcquirePart> parts) {
    const auto& outcome = AskAll(std::move(parts));
    EXPECT_TRUE(outcome.has_value() && !*outcome);
    return outcome.has_value() && !*outcome ? outcome->error() : Error{};
  }
  Status Debit(std::vector<AcquirePart> parts) { return limiter_->Debit(parts, Deadline::Never()); }

  /// Returns the balance of rpm; the capacity `full` for a bucket that was never used.
  std::int64_t Left(const std::string& entity, const std::string& resource = "gpt-4",
                    std::int64_t full = 10) {
    std::int64_t left = full;
    const BucketKey key{entity, resource};
    memory_->buckets().Read({&key, 1}, Deadline::Never(), [&](auto records) {
      if (records->front()) left = records->front()->bucket.meters[0].tokens / kMillitokens;
    });
    return left;
  }

  std::list<std::optional<Result<GroupOutcome>>> outcomes_;
};

}  // namespace weir
