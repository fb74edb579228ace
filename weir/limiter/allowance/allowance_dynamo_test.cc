// Allowances of two processes on one table, one of which is cut off from it.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "weir/limiter/limiter.h"
#include "weir/model/reserved_allowance.h"
#include "weir/zae_table/dynamo_backend.h"
#include "weir/zae_table/keys.h"
#include "weir/zae_table/testing/zae_sim_table.h"
#include "weir/zae_table/version.h"

namespace weir::dynamo {
namespace {

constexpr std::int64_t kAllowedTokens = 42'000;  // the capacity
constexpr std::int64_t kTokensOfMilli = 4;       // the rate

class AllowanceOnATable : public testing::Test {
 protected:
  AllowanceOnATable() {
    table_.Put(NewVersionRecord({0}, ""));
    here_.emplace(PartsOf(here_client_));
    there_.emplace(PartsOf(table_.client));
    limiter_.emplace(*here_, table_.scheduler, LimiterOptions{.seed = 1});
    std::optional<Status> applied;
    limiter_->Apply({PutLimits{Level::System(), {.limits = {limit_}}}}, Deadline::Never(),
                    [&](const Status& status) { applied = status; });
    EXPECT_TRUE(applied && *applied);
  }
  ~AllowanceOnATable() override {
    limiter_.reset();
    table_.scheduler.Advance(std::chrono::seconds(20));
  }

  BackendParts PartsOf(JsonClient& client) {
    return {.client = client,
            .scheduler = table_.scheduler,
            .table = table_.table.name(),
            .namespace_id = "ns",
            .sources = {.random = [this] { return ++drawn_ * 0x123456789ABCDEF1; }}};
  }
  /// One request a millisecond, from the allowance of a process.
  void SpendHere(milliseconds time) {
    for (milliseconds spent{0}; spent < time; spent += milliseconds(1)) {
      limiter_->Acquire({.entity = "acme", .resource = "r", .amounts = {{"rps", 100}}},
                        Deadline::After(table_.scheduler.clock(), std::chrono::seconds(1)),
                        [](Result<Outcome> outcome) {
                          if (outcome && outcome->admitted()) {
                            std::move(*outcome).lease().MarkSpent();
                          }
                        });
      table_.scheduler.Advance(milliseconds(1));
    }
  }
  /// Takes all tokens that the bucket has, in the other process.
  std::int64_t DrainThere() {
    const TargetPtr target = MakeTarget({"acme", "r", 0}, ReserveAllowance({limit_}));
    std::int64_t taken = 0;
    for (std::int64_t tokens = 32'768; tokens > 0; tokens /= 2) {
      const std::vector<Charge> charges{{target, {tokens * kMillitokens}}};
      const auto is_taken = [&] {
        const auto decision = table_.Ask<Decision>([&](Done<Decision> done) {
          there_->buckets().Acquire(charges, there_->buckets().Now(), Deadline::Never(),
                                    std::move(done));
        });
        return decision && decision->admitted;
      };
      while (is_taken()) taken += tokens;
    }
    return taken;
  }

  const Limit limit_{
      "rps", {kAllowedTokens * kMillitokens, kTokensOfMilli* kMillitokens, 1}, milliseconds(500)};
  std::uint64_t drawn_ = 0;
  ZaeSimTable table_;
  DirectClient here_client_{table_.server};
  std::optional<DynamoBackend> here_;
  std::optional<DynamoBackend> there_;
  std::optional<Limiter> limiter_;
};

// Fails if: a return that could not be written takes effect when the table responds again, seconds
// after the bucket would have been full without the debit.
TEST_F(AllowanceOnATable, AReturnThatIsSentAgainLaterMakesNoTokens) {
  SpendHere(milliseconds(300));
  here_client_.FailFrom(1, DirectClient::Fault::kUnsent);
  table_.scheduler.Advance(milliseconds(500));
  ASSERT_GE(limiter_->stats().allowances.returns, 1U);
  table_.scheduler.Advance(milliseconds(8'700));
  std::int64_t taken = DrainThere();
  here_client_.Heal();
  table_.scheduler.Advance(milliseconds(500));
  taken += DrainThere();
  EXPECT_LE(taken, kAllowedTokens + kTokensOfMilli * 500);
  EXPECT_GT(taken, kAllowedTokens - 2'000) << "the bucket was full";
}

}  // namespace
}  // namespace weir::dynamo
