#include "apps/weir/resource_capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "apps/weir/command.h"
#include "apps/weir/testing/process_context_fixture.h"
#include "weir/store/memory/memory_backend.h"

namespace weir::app {
namespace {

using testing::HasSubstr;

constexpr UnixMillis kTaken{1'767'225'600'000};

BucketRecord RpmBucket(const std::string& entity, std::int64_t capacity, std::int64_t tokens) {
  Meter meter{.quota = PerMinute(capacity), .tokens = tokens * kMillitokens};
  return {.key = {entity, "llm"}, .names = {"rpm"}, .bucket = {kTaken, {meter}}};
}

// Fails if: tokens are not refilled to the instant, or limits that left are added.
TEST(ResourceCapacityTest, AddsUpTheRefilledTokensOfConfiguredLimits) {
  ResourceCapacity sums{.resource = "llm", .at = kTaken + milliseconds(30'000)};
  BucketRecord acme = RpmBucket("acme", 60, 0);
  acme.extras.meters.push_back({"old", acme.bucket.meters[0], kTaken});
  ASSERT_TRUE(Add(sums, acme));
  ASSERT_TRUE(Add(sums, RpmBucket("bolt", 10, -5)));
  EXPECT_EQ(TextOf(sums),
            "entity  limit  capacity  tokens\n"
            "acme    rpm          60      30\n"
            "bolt    rpm          10       0\n"
            "(all)   rpm          70      30\n");
  const Json whole = ToJson(sums);
  EXPECT_EQ(whole["all"], Json::parse(R"([{"name":"rpm","capacity":70,"tokens":30,"buckets":2}])"));
  EXPECT_EQ(whole["entities"][1],
            Json::parse(R"({"entity":"bolt","limits":[{"name":"rpm","capacity":10,"tokens":0}]})"));
}

// Fails if: the sum wraps around.
TEST(ResourceCapacityTest, ASumThatIsTooLargeIsRefused) {
  ResourceCapacity sums{.resource = "llm", .at = kTaken};
  Status added;
  for (int i = 0; i < 1000 && added; ++i) {
    added = Add(sums, RpmBucket("e" + std::to_string(i), 10'000'000'000'000, 0));
  }
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Code::kOutOfRange);
  EXPECT_THAT(added.error().message, HasSubstr("limit rpm"));
}

/// Lists the shards of acme's bucket, and reads it as a whole.
class DividedBuckets final : public BucketStore {
 public:
  UnixMillis Now() const override { return kTaken; }
  void Acquire(std::span<const Charge>, UnixMillis, Deadline, Done<Decision>) override {}
  void Adjust(std::span<const Charge>, const AdjustTerms&, UnixMillis, Deadline,
              Done<void>) override {}
  void Read(std::span<const BucketKey> keys, Deadline,
            Done<std::vector<std::optional<BucketRecord>>> done) override {
    EXPECT_THAT(keys, testing::ElementsAre(BucketKey{"acme", "llm"}));
    done({{RpmBucket("acme", 100, 40)}});
  }
  void List(const BucketFilter&, const PageRequest&, Deadline,
            Done<Page<BucketRecord>> done) override {
    Page<BucketRecord> page{.items = {}, .next = {}};
    for (std::uint32_t shard = 1; shard < 4; ++shard) {
      page.items.push_back(RpmBucket("acme", 100, 10));
      page.items.back().key.shard = shard;
    }
    page.items.push_back(RpmBucket("bolt", 5, 5));
    done(std::move(page));
  }
};

class DividedBackend final : public Backend {
 public:
  explicit DividedBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}
  BucketStore& buckets() override { return buckets_; }
  ConfigStore& config() override { return inner_->config(); }
  Status Close() override { return inner_->Close(); }
  std::string Describe() const override { return inner_->Describe(); }

 private:
  std::unique_ptr<Backend> inner_;
  DividedBuckets buckets_;
};

class CapacityVerbTest : public WorldTest {
 protected:
  CapacityVerbTest() : WorldTest({{"WEIR_STORE", "memory:"}}) {
    process_.open_backend = [this](const std::string&) -> Result<std::unique_ptr<Backend>> {
      return std::make_unique<DividedBackend>(MakeMemoryBackend({}, &scheduler_.clock()));
    };
  }
};

// Fails if: the shards of a bucket are added as buckets of their own.
TEST_F(CapacityVerbTest, ADividedBucketCountsOnce) {
  ASSERT_EQ(RunArgs({"resource", "capacity", "llm"}), Exit::kDone) << err_.str();
  EXPECT_EQ(out_.str(),
            "entity  limit  capacity  tokens\n"
            "acme    rpm         100      40\n"
            "bolt    rpm           5       5\n"
            "(all)   rpm         105      45\n");
}

}  // namespace
}  // namespace weir::app
