// A test fixture: a limiter on a ProbeBackend, with leases on a child and its parent.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "weir/limiter/limiter.h"
#include "weir/limiter/testing/probe_backend.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_backend.h"

namespace weir {

class LeaseTest : public ::testing::Test {
 protected:
  // The child has 10 rpm and 100 tpm, the parent has 80 tpm. Both begin full.
  void SetUp() override {
    ASSERT_TRUE(limiter_->Apply(
        {PutChild("a", "p"),
         Put(Level::EntityDefault("a"), {{"rpm", PerMinute(10)}, {"tpm", PerMinute(100)}}),
         Put(Level::EntityDefault("p"), {{"tpm", PerMinute(80)}})},
        Deadline::Never()));
  }

  Lease Take(Amounts amounts) {
    auto outcome = limiter_->Acquire(
        {.entity = "a", .resource = "gpt-4", .amounts = std::move(amounts)}, Deadline::Never());
    EXPECT_TRUE(outcome && outcome->admitted());
    return std::move(*outcome).lease();
  }

  /// Returns the tokens left in the buckets of a (rpm, tpm) and p (tpm).
  std::vector<std::int64_t> Left() {
    std::vector<std::int64_t> left;
    const std::vector<BucketKey> keys{{"a", "gpt-4"}, {"p", "gpt-4"}};
    memory_->buckets().Read(keys, Deadline::Never(), [&](auto records) {
      for (const auto& record : *records) {
        for (const Meter& meter : record->bucket.meters) {
          left.push_back(meter.tokens / kMillitokens);
        }
      }
    });
    return left;
  }

  // After Lose, the store applies calls and their results are lost. After Fail, it does not apply
  // them, and the error is the same.
  void Lose() { store_.lose = Error{Code::kUnavailable, "lost"}; }
  void Fail() { store_.fail = Error{Code::kUnavailable, "lost"}; }
  void Heal() {
    store_.lose.reset();
    store_.fail.reset();
  }

  sim::SimScheduler scheduler_;
  std::unique_ptr<Backend> memory_ = MakeMemoryBackend({}, &scheduler_.clock());
  ProbeBackend store_{*memory_};
  std::unique_ptr<Limiter> limiter_ =
      std::make_unique<Limiter>(store_, scheduler_, LimiterOptions{.seed = 1});
};

}  // namespace weir
