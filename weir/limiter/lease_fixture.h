// A limiter over a watched store, and leases on a child and its parent.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "weir/limiter/limiter.h"
#include "weir/limiter/probe_backend.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory_backend.h"

namespace weir {

class LeaseTest : public ::testing::Test {
 protected:
  // A child of 10 rpm and 100 tpm, a parent of 80 tpm; both begin full.
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

  /// Tokens left in the buckets of a (rpm, tpm) and p (tpm).
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

  /// Does, and the answer is lost. Or does not, and the answer is the same.
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
