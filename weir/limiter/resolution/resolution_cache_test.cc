#include "weir/limiter/resolution/resolution_cache.h"

#include <gtest/gtest.h>

#include "weir/limiter/resolution/thread_cache.h"

namespace weir {
namespace {

constexpr Instant kNow{1'000'000};
constexpr Instant kLater{2'000'000};

ResolutionPtr Of(const std::string& entity, std::vector<std::string> chain = {}) {
  chain.insert(chain.begin(), entity);
  Resolved resolved{.targets = {MakeTarget({entity, "r"}, {{"rpm", PerSecond(1)}})},
                    .source = Level::System(),
                    .on_unavailable = {}};
  return std::make_shared<const Resolution>(Resolution{std::move(chain), std::move(resolved)});
}

ResolvedPtr ResolvedOf(const ResolutionPtr& resolution) {
  return ResolvedPtr(resolution, &*resolution->result);
}

class ResolutionCacheTest : public ::testing::Test {
 protected:
  void Put(const std::string& entity, std::vector<std::string> chain = {}) {
    cache_.Put(PairKey(entity, "r"), Of(entity, std::move(chain)), kLater, cache_.epoch());
  }
  bool Has(const std::string& entity, Instant now = kNow) {
    return cache_.Find(PairKey(entity, "r"), now).resolution != nullptr;
  }
  ResolutionCache cache_{4};
};

TEST_F(ResolutionCacheTest, FindsWhatWasPutUntilItExpires) {
  Put("a");
  const auto found = cache_.Find(PairKey("a", "r"), kNow);
  ASSERT_NE(found.resolution, nullptr);
  EXPECT_EQ(found.resolution->chain.front(), "a");
  EXPECT_EQ(found.expires, kLater);
  EXPECT_TRUE(Has("a", kLater - nanoseconds(1)));
  EXPECT_FALSE(Has("a", kLater));
  EXPECT_FALSE(Has("b"));
  EXPECT_EQ(cache_.Find(PairKey("a", "s"), kNow).resolution, nullptr);
}

TEST_F(ResolutionCacheTest, ASecondPutReplacesTheFirst) {
  Put("a");
  Put("a", {"parent"});
  EXPECT_EQ(cache_.Find(PairKey("a", "r"), kNow).resolution->chain.size(), 2U);
  EXPECT_EQ(cache_.size(), 1U);
  EXPECT_EQ(cache_.evicted(), 0U);
}

// Fails if: a fetch that began early and ends late replaces a later result.
TEST_F(ResolutionCacheTest, D6WhatWasReadLaterIsNotReplacedByWhatWasReadBefore) {
  Put("a", {"parent"});
  cache_.Put(PairKey("a", "r"), Of("a"), kLater - nanoseconds(1), cache_.epoch());
  EXPECT_EQ(cache_.Find(PairKey("a", "r"), kNow).resolution->chain.size(), 2U);
}

TEST_F(ResolutionCacheTest, D6WhoeverSawTheChangeMayPutWhatItRead) {
  Put("b");
  const std::uint64_t began = cache_.epoch();
  const std::uint64_t now = cache_.DropAffected({.entities = {"b"}}, began);
  cache_.Put(PairKey("a", "r"), Of("a"), kLater, now);
  EXPECT_TRUE(Has("a"));
  EXPECT_FALSE(Has("b"));
  // The result is not cached if other pairs were dropped since the fetch began.
  cache_.Put(PairKey("c", "r"), Of("c"), kLater, cache_.DropAffected({.all = true}, began));
  EXPECT_FALSE(Has("c"));
}

TEST_F(ResolutionCacheTest, IsBoundedAndWhoWasNotUsedLeavesFirst) {
  for (const char* entity : {"a", "b", "c", "d"}) Put(entity);
  EXPECT_TRUE(Has("a"));
  EXPECT_TRUE(Has("c"));
  Put("e");
  Put("f");
  EXPECT_EQ(cache_.size(), 4U);
  EXPECT_EQ(cache_.evicted(), 2U);
  EXPECT_TRUE(Has("a"));
  EXPECT_FALSE(Has("b"));
  EXPECT_TRUE(Has("c"));
  EXPECT_FALSE(Has("d"));
}

TEST_F(ResolutionCacheTest, AllInUseStillMakeRoom) {
  for (const char* entity : {"a", "b", "c", "d"}) Put(entity);
  for (const char* entity : {"a", "b", "c", "d"}) EXPECT_TRUE(Has(entity));
  Put("e");
  EXPECT_TRUE(Has("e"));
  EXPECT_EQ(cache_.size(), 4U);
}

TEST_F(ResolutionCacheTest, LargeOnesKeepTheirBoundToo) {
  ResolutionCache large(8192);
  for (int i = 0; i < 20'000; ++i) {
    const std::string entity = "e" + std::to_string(i);
    large.Put(PairKey(entity, "r"), Of(entity), kLater, large.epoch());
  }
  EXPECT_LE(large.size(), 8192U);
  EXPECT_GT(large.size(), 7000U);
  EXPECT_EQ(large.size() + large.evicted(), 20'000U);
}

TEST_F(ResolutionCacheTest, OneWithoutRoomRemembersNothing) {
  ResolutionCache none(0);
  none.Put(PairKey("a", "r"), Of("a"), kLater, none.epoch());
  EXPECT_EQ(none.size(), 0U);
}

TEST_F(ResolutionCacheTest, WhatWasReadBeforeAChangeIsNotPut) {
  const std::uint64_t before = cache_.epoch();
  cache_.EvictEntity("b");
  cache_.Put(PairKey("a", "r"), Of("a"), kLater, before);
  EXPECT_FALSE(Has("a"));
  const std::uint64_t again = cache_.epoch();
  cache_.Clear();
  cache_.Put(PairKey("a", "r"), Of("a"), kLater, again);
  EXPECT_FALSE(Has("a"));
}

TEST_F(ResolutionCacheTest, AnEntityTakesItsDescendantsWithIt) {
  Put("a");
  Put("b", {"a"});
  Put("c", {"b", "a"});
  Put("d");
  cache_.EvictEntity("a");
  EXPECT_EQ(cache_.size(), 1U);
  EXPECT_TRUE(Has("d"));
  for (const char* entity : {"a", "b", "c", "e"}) Put(entity);
  EXPECT_EQ(cache_.size(), 4U) << "their room is used again";
}

TEST_F(ResolutionCacheTest, ClearForgetsEverything) {
  for (const char* entity : {"a", "b", "c", "d", "e"}) Put(entity);
  cache_.Clear();
  EXPECT_FALSE(Has("d"));
  EXPECT_FALSE(Has("e"));
  Put("e");
  EXPECT_TRUE(Has("e"));
  for (const char* entity : {"f", "g", "h"}) Put(entity);
  EXPECT_LE(cache_.size(), 4U);
  for (const char* entity : {"e", "f", "g", "h"}) EXPECT_TRUE(Has(entity)) << "the room is theirs";
}

class HotPairsTest : public ::testing::Test {
 protected:
  void Offer(const std::string& entity, std::uint64_t epoch = 1) {
    hot_.Offer(PairKey(entity, "r"), ResolvedOf(Of(entity)), kLater, epoch);
  }
  ResolvedPtr Find(const std::string& entity, Instant now = kNow, std::uint64_t epoch = 1) {
    return hot_.Find(PairKey(entity, "r"), now, epoch);
  }
  ThreadCache hot_;
};

TEST_F(HotPairsTest, TakesWhatIsOfferedTwiceInARow) {
  EXPECT_EQ(Find("a"), nullptr);
  Offer("a");
  EXPECT_EQ(Find("a"), nullptr);
  Offer("a");
  ASSERT_NE(Find("a"), nullptr);
  EXPECT_EQ(Find("a")->targets.front()->key.entity, "a");
}

TEST_F(HotPairsTest, BelievesNothingFromBeforeAChangeOrBeyondItsTime) {
  Offer("a");
  Offer("a");
  EXPECT_EQ(Find("a", kLater), nullptr);
  EXPECT_EQ(Find("a", kNow, 2), nullptr);
  EXPECT_NE(Find("a"), nullptr);
}

TEST_F(HotPairsTest, TellsPairsOfOneEntryApart) {
  // There are more pairs than entries, so some share one.
  for (int i = 0; i < 3000; ++i) {
    Offer("e" + std::to_string(i));
    Offer("e" + std::to_string(i));
  }
  int found = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string entity = "e" + std::to_string(i);
    const ResolvedPtr resolved = Find(entity);
    if (resolved == nullptr) continue;
    EXPECT_EQ(resolved->targets.front()->key.entity, entity);
    ++found;
  }
  EXPECT_GT(found, 500);
  EXPECT_LT(found, 3000);
}

TEST_F(HotPairsTest, HoldsTheSameTargetsUnderCountsOfItsOwn) {
  const ResolvedPtr original = ResolvedOf(Of("a"));
  hot_.Offer(PairKey("a", "r"), original, kLater, 1);
  hot_.Offer(PairKey("a", "r"), original, kLater, 1);
  const ResolvedPtr copy = Find("a");
  EXPECT_EQ(copy->targets.front().get(), original->targets.front().get());
  const long before = original->targets.front().use_count();
  const std::vector<TargetPtr> more(10, copy->targets.front());
  EXPECT_EQ(original->targets.front().use_count(), before);
}

}  // namespace
}  // namespace weir
