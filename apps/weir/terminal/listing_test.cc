#include "apps/weir/terminal/listing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "weir/runtime/await.h"
#include "weir/store/memory/memory_backend.h"

namespace weir::app {
namespace {

/// More than two pages.
constexpr int kMany = 2500;

class ListingTest : public testing::Test {
 protected:
  void Apply(std::vector<ConfigChange> changes) {
    const Status applied = ApplyChanges(backend_->config(), std::move(changes), Deadline::Never());
    ASSERT_TRUE(applied) << applied.error().message;
  }

  void Take(const std::string& entity, const std::string& resource) {
    const Charge charge{MakeTarget({entity, resource}, {{"rpm", PerMinute(5)}}), {1000}};
    const auto decision = Await<Decision>([&](Done<Decision> done) {
      backend_->buckets().Acquire({&charge, 1}, UnixMillis{1'767'225'600'013}, Deadline::Never(),
                                  std::move(done));
    });
    ASSERT_TRUE(decision) << decision.error().message;
  }

  std::unique_ptr<Backend> backend_ = MakeMemoryBackend();
};

TEST_F(ListingTest, ReadsEveryPageOfEntitiesAndLevels) {
  std::vector<ConfigChange> changes;
  for (int i = 0; i < kMany; ++i) {
    EntityRecord record;
    record.entity.id = fmt::format("e{:05}", i);
    record.entity.parent = "org";
    changes.push_back(CreateEntity{record});
    changes.push_back(PutLimits{Level::EntityDefault(record.entity.id),
                                {.limits = {{"rpm", PerMinute(1)}}, .on_unavailable = {}}});
  }
  Apply(std::move(changes));
  const Result<Declared> declared = ReadDeclared(backend_->config(), Deadline::Never);
  ASSERT_TRUE(declared) << declared.error().message;
  EXPECT_EQ(declared->entities.size(), static_cast<std::size_t>(kMany));
  EXPECT_EQ(declared->levels.size(), static_cast<std::size_t>(kMany));
  const auto children = ListEntities(backend_->config(), "org", Deadline::Never);
  ASSERT_TRUE(children) << children.error().message;
  EXPECT_EQ(children->size(), static_cast<std::size_t>(kMany));
}

TEST_F(ListingTest, ReadsEveryPageOfBucketsInOrder) {
  for (int i = 0; i < kMany; ++i) Take("acme", fmt::format("r{}", i));
  Take("bolt", "r1");
  const auto records =
      ListBuckets(backend_->buckets(), {.entity = "acme", .resource = {}}, Deadline::Never);
  ASSERT_TRUE(records) << records.error().message;
  EXPECT_EQ(records->size(), static_cast<std::size_t>(kMany));
  EXPECT_TRUE(std::is_sorted(records->begin(), records->end(),
                             [](const auto& a, const auto& b) { return a.key < b.key; }));
}

TEST_F(ListingTest, ListsLevelsOfOneKind) {
  const LevelLimits limits{.limits = {{"rpm", PerMinute(1)}}, .on_unavailable = {}};
  Apply({PutLimits{Level::System(), limits}, PutLimits{Level::Resource("llm"), limits},
         PutLimits{Level::Entity("acme", "llm"), limits}});
  const auto records =
      ListLevels(backend_->config(), {.kind = Level::Kind::kResource}, Deadline::Never);
  ASSERT_TRUE(records) << records.error().message;
  ASSERT_EQ(records->size(), 1U);
  EXPECT_EQ(records->front().level, Level::Resource("llm"));
}

TEST_F(ListingTest, WhatIsNotThereIsNothing) {
  const auto level = GetLevel(backend_->config(), Level::System(), Deadline::Never());
  ASSERT_TRUE(level) << level.error().message;
  EXPECT_FALSE(level->has_value());
  const auto records = ListBuckets(backend_->buckets(), {}, Deadline::Never);
  ASSERT_TRUE(records) << records.error().message;
  EXPECT_TRUE(records->empty());
}

/// A bucket store that cannot read one item of each page.
class PartlyReadable final : public BucketStore {
 public:
  UnixMillis Now() const override { return {}; }
  void Acquire(std::span<const Charge>, UnixMillis, Deadline, Done<Decision>) override {}
  void Adjust(std::span<const Charge>, const AdjustTerms&, UnixMillis, Deadline,
              Done<void>) override {}
  void Read(std::span<const BucketKey>, Deadline,
            Done<std::vector<std::optional<BucketRecord>>>) override {}
  void List(const BucketFilter&, const PageRequest& page, Deadline,
            Done<Page<BucketRecord>> done) override {
    const bool first = page.cursor.empty();
    done(Page<BucketRecord>{.items = {{.key = {first ? "a" : "b", "llm", 0}}},
                            .next = first ? "2" : "",
                            .unreadable = {"bucket c/llm shard 0 uses a schedule"}});
  }
};

TEST(PartlyReadableTest, Z109WhatCannotBeReadIsToldOnceAndHidesNothing) {
  PartlyReadable store;
  std::vector<std::string> left_out;
  const auto records = ListBuckets(store, {}, Deadline::Never, &left_out);
  ASSERT_TRUE(records) << records.error().message;
  EXPECT_EQ(records->size(), 2U);
  EXPECT_EQ(left_out, std::vector<std::string>{"bucket c/llm shard 0 uses a schedule"});
  EXPECT_FALSE(ListBuckets(store, {}, Deadline::Never)) << "where nobody would be told";
}

}  // namespace
}  // namespace weir::app
