#include "weir/store/memory/memory_backend.h"

#include <gtest/gtest.h>

#include "weir/sim/sim_scheduler.h"
#include "weir/store/testing/contract.h"

namespace weir {
namespace {

std::unique_ptr<BackendHarness> Memory(BucketTableOptions options) {
  return std::make_unique<PlainHarness>(MakeMemoryBackend(options));
}

const auto kCases =
    ContractOn({{"default", [] { return Memory({}); }},
                // All buckets share one lock.
                {"one_stripe", [] { return Memory({.stripes = 1}); }},
                {"no_grace", [] { return Memory({.idle_grace = milliseconds(0)}); }}});

INSTANTIATE_TEST_SUITE_P(Memory, StoreContract, kCases, ContractName);
INSTANTIATE_TEST_SUITE_P(Memory, StoreContractRejoin, kCases, ContractName);
INSTANTIATE_TEST_SUITE_P(Memory, StoreContractUsage, kCases, ContractName);
INSTANTIATE_TEST_SUITE_P(Memory, StoreContractThreads, kCases, ContractName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreContractNamespaces);  // it holds one namespace

class MemoryBackendTest : public testing::Test {
 protected:
  MemoryBackendTest() : harness_(MakeMemoryBackend()), store_(harness_) {}

  std::size_t CountBuckets() {
    const auto page = store_.List({}, {.cursor = {}, .limit = 1'000'000});
    return page ? page->items.size() : 0;
  }

  PlainHarness harness_;
  ContractClient store_;
};

// Fails if: the retention in memory is 90 days whatever was set.
TEST(MemoryAuditTest, EventsExpireByTheRetentionThatWasSet) {
  sim::SimClock clock;
  PlainHarness harness(MakeMemoryBackend({}, &clock));
  ContractClient store(harness);
  const auto entities = [&](const std::string& id) {
    EXPECT_TRUE(store.Apply({CreateEntity{{.entity = {.id = id}}}}));
    return store.ListEvents("first", {})->items.size();
  };
  ASSERT_TRUE(store.SetRetention(2));
  EXPECT_EQ(entities("first"), 1U);
  clock.Advance(std::chrono::hours(47));
  EXPECT_EQ(entities("second"), 1U);
  clock.Advance(std::chrono::hours(1));
  EXPECT_EQ(entities("third"), 0U);
}

TEST_F(MemoryBackendTest, BucketsThatStayIdleLeave) {
  const std::vector<Limit> limits = {{"rpm", PerMinute(10)}};
  const auto use = [&](int i, UnixMillis now) {
    const TargetPtr target = MakeTarget({.entity = std::to_string(i), .resource = "r"}, limits);
    EXPECT_TRUE(store_.Acquire({Tokens(target, {1})}, now));
  };
  for (int i = 0; i < 1000; ++i) use(i, kStart);
  EXPECT_EQ(CountBuckets(), 1000U);
  const UnixMillis later = kStart + std::chrono::hours(1);
  for (int i = 1000; i < 5000; ++i) use(i, later);
  EXPECT_LT(CountBuckets(), 4100U);
}

TEST_F(MemoryBackendTest, AnswersWhateverTheDeadline) {
  int results = 0;
  harness_.backend().buckets().List({}, {}, Deadline::At({1}),
                                    [&](Result<Page<BucketRecord>> page) { results += !!page; });
  harness_.backend().config().Apply({}, Deadline::At({1}),
                                    [&](Status status) { results += !!status; });
  EXPECT_EQ(results, 2);
}

TEST_F(MemoryBackendTest, IsCalledMemory) { EXPECT_EQ(harness_.backend().Describe(), "memory:"); }

}  // namespace
}  // namespace weir
