#include "weir/kinesis/shards/shard_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

HashKey Key(std::string_view decimal) { return ParseHashKey(decimal).value(); }

TEST(ShardId, IsTheNumberInTheName) {
  EXPECT_EQ(ParseShardId("shardId-000000000012"), ShardId{12});
  EXPECT_EQ(ParseShardId("shardId-1234567890123"), ShardId{1234567890123});
  EXPECT_EQ(FormatShardId({12}), "shardId-000000000012");
  for (const std::string_view name : {"", "shardId-", "shard-1", "shardId-x", "shardId-1x",
                                      "shardId--1", "shardId- 1", "shardId-99999999999999999999"}) {
    EXPECT_FALSE(ParseShardId(name)) << name;
  }
}

class ShardMapTest : public testing::Test {
 protected:
  /// Responds to the step of Next, which must request a first page, with a complete listing.
  void List(std::vector<Shard> shards) {
    const ShardMap::Step step = map_.Next(now_);
    ASSERT_TRUE(step.list);
    ASSERT_EQ(step.next_token, "");
    map_.OnListed(ShardPage{std::move(shards), ""}, now_);
  }
  /// Lets this number of listings fail. Returns the time before each.
  std::vector<nanoseconds> FailedTries(int tries) {
    std::vector<nanoseconds> waits;
    Instant last = now_;
    while (static_cast<int>(waits.size()) < tries) {
      const ShardMap::Step step = map_.Next(now_);
      if (step.list) {
        waits.push_back(now_ - last);
        last = now_;
        map_.OnListed(Fail(Code::kUnavailable, "no"), now_);
      } else {
        now_ = step.wake.value();
      }
    }
    return waits;
  }

  ShardMap map_{{}, 1};
  Instant now_ = kStart;
};

// The listing is that of the Kinesis Producer Library's test.
TEST_F(ShardMapTest, FindsTheShardOfBothEndsOfEachRange) {
  EXPECT_EQ(map_.ShardOf(0), std::nullopt);
  EXPECT_FALSE(map_.has_listing());
  const HashKey second = Key("85070591730234615865843651857942052863");
  const HashKey third = Key("170141183460469231731687303715884105728");
  List({{{2}, {0, second - 1}}, {{3}, {second, third - 1}}, {{1}, {third, kMaxHashKey}}});
  EXPECT_TRUE(map_.has_listing());
  EXPECT_EQ(map_.ShardOf(0), ShardId{2});
  EXPECT_EQ(map_.ShardOf(second - 1), ShardId{2});
  EXPECT_EQ(map_.ShardOf(second), ShardId{3});
  EXPECT_EQ(map_.ShardOf(third - 1), ShardId{3});
  EXPECT_EQ(map_.ShardOf(third), ShardId{1});
  EXPECT_EQ(map_.ShardOf(kMaxHashKey), ShardId{1});
  EXPECT_EQ(map_.RangeOf({3}), (HashRange{second, third - 1}));
  EXPECT_EQ(map_.RangeOf({9}), std::nullopt);
  EXPECT_FALSE(map_.Next(now_).list) << "one request was enough";
}

TEST_F(ShardMapTest, KnowsNoShardForAGap) {
  List({{{1}, {10, 20}}, {{2}, {30, 40}}});
  EXPECT_EQ(map_.ShardOf(9), std::nullopt);
  EXPECT_EQ(map_.ShardOf(25), std::nullopt);
  EXPECT_EQ(map_.ShardOf(41), std::nullopt);
}

// Fails if: a parent that is still listed hides a child; keys that no child holds yet are lost.
RC_GTEST_PROP(ShardMapOfOverlaps, TheYoungestShardThatHoldsAKeyWins, ()) {
  std::vector<Shard> shards;
  const auto count = *rc::gen::inRange<std::uint64_t>(0, 12);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto first = *rc::gen::inRange<std::uint64_t>(0, 60);
    // In an order that is neither ascending nor descending.
    shards.push_back({{i * 7 % 13}, {first, *rc::gen::inRange<std::uint64_t>(first, 64)}});
  }
  ShardMap map({}, 1);
  map.Next(kStart);
  map.OnListed(ShardPage{shards, ""}, kStart);
  for (std::uint64_t key = 0; key < 64; ++key) {
    std::optional<ShardId> youngest;
    for (const Shard& shard : shards) {
      if (shard.range.Contains(key) && (!youngest || *youngest < shard.id)) youngest = shard.id;
    }
    RC_ASSERT(map.ShardOf(key) == youngest);
  }
}

TEST_F(ShardMapTest, ReadsAllPagesBeforeItChanges) {
  ASSERT_TRUE(map_.Next(now_).list);
  EXPECT_FALSE(map_.Next(now_).list) << "one request at a time";
  map_.OnListed(ShardPage{{{{1}, {0, 99}}}, "more"}, now_);
  EXPECT_EQ(map_.ShardOf(5), std::nullopt);
  const ShardMap::Step step = map_.Next(now_);
  EXPECT_TRUE(step.list);
  EXPECT_EQ(step.next_token, "more");
  map_.OnListed(ShardPage{{{{2}, {100, kMaxHashKey}}}, ""}, now_);
  EXPECT_EQ(map_.ShardOf(5), ShardId{1});
  EXPECT_EQ(map_.ShardOf(100), ShardId{2});
}

TEST_F(ShardMapTest, BeginsAgainWhereAPageFails) {
  map_.Next(now_);
  map_.OnListed(ShardPage{{{{1}, {0, 99}}}, "more"}, now_);
  map_.Next(now_);
  map_.OnListed(Fail(Code::kUnavailable, "throttled"), now_);
  EXPECT_EQ(map_.last_error()->message, "throttled");
  now_ = map_.Next(now_).wake.value_or(now_);
  List({{{2}, {0, kMaxHashKey}}});
  EXPECT_EQ(map_.ShardOf(5), ShardId{2});
  EXPECT_EQ(map_.last_error(), std::nullopt);
}

TEST_F(ShardMapTest, WaitsLongerAfterEachFailure) {
  const std::vector<nanoseconds> waits = FailedTries(200);
  EXPECT_EQ(waits.front(), nanoseconds(0)) << "the first needs no wait";
  nanoseconds longest{0};
  for (std::size_t i = 1; i < waits.size(); ++i) {
    EXPECT_LE(waits[i], seconds(1) * (std::int64_t{1} << std::min<std::size_t>(i - 1, 5)));
    longest = std::max(longest, waits[i]);
  }
  EXPECT_LE(longest, seconds(30));
  EXPECT_GT(longest, seconds(15));
}

TEST_F(ShardMapTest, GoesOnAnsweringWhileItIsInDoubt) {
  List({{{1}, {0, kMaxHashKey}}});
  now_ = now_ + seconds(5);
  map_.Doubt(now_);
  ASSERT_TRUE(map_.Next(now_).list);
  EXPECT_EQ(map_.ShardOf(7), ShardId{1});
  map_.OnListed(Fail(Code::kUnavailable, "no"), now_);
  EXPECT_EQ(map_.ShardOf(7), ShardId{1});
}

TEST_F(ShardMapTest, DoesNotListForAnAnswerOlderThanTheListing) {
  now_ = now_ + seconds(5);
  List({{{1}, {0, kMaxHashKey}}});
  map_.Doubt(now_ - seconds(1));
  EXPECT_FALSE(map_.Next(now_ + seconds(9)).list);
}

TEST_F(ShardMapTest, ListsAtMostOnceASecondHoweverOftenItIsDoubted) {
  List({{{1}, {0, kMaxHashKey}}});
  int listings = 0;
  for (int tick = 0; tick < 100; ++tick) {
    now_ = now_ + milliseconds(100);
    map_.Doubt(now_);
    if (map_.Next(now_).list) {
      ++listings;
      map_.OnListed(ShardPage{{{{1}, {0, kMaxHashKey}}}, ""}, now_);
    }
  }
  EXPECT_EQ(listings, 10);
}

// The listing may have begun before the split that the response revealed.
TEST_F(ShardMapTest, ListsOnceMoreForADoubtDuringAListing) {
  List({{{1}, {0, kMaxHashKey}}});
  now_ = now_ + seconds(5);
  map_.Doubt(now_);
  ASSERT_TRUE(map_.Next(now_).list);
  map_.Doubt(now_ - milliseconds(1));
  map_.Doubt(now_ + milliseconds(1));
  map_.OnListed(ShardPage{{{{1}, {0, kMaxHashKey}}}, ""}, now_ + milliseconds(2));
  const ShardMap::Step step = map_.Next(now_ + milliseconds(2));
  EXPECT_FALSE(step.list);
  ASSERT_EQ(step.wake, now_ + seconds(1));
  EXPECT_TRUE(map_.Next(*step.wake).list);
}

TEST_F(ShardMapTest, RemembersTheRangeOfAClosedShardForAWhile) {
  List({{{1}, {0, kMaxHashKey}}});
  now_ = now_ + seconds(100);
  map_.Doubt(now_);
  List({{{2}, {0, 9}}, {{3}, {10, kMaxHashKey}}});
  EXPECT_EQ(map_.ShardOf(5), ShardId{2});
  EXPECT_EQ(map_.RangeOf({1}), (HashRange{0, kMaxHashKey}));
  now_ = now_ + seconds(60);
  map_.Doubt(now_);
  List({{{2}, {0, 9}}, {{3}, {10, kMaxHashKey}}});
  EXPECT_EQ(map_.RangeOf({1}), std::nullopt);
}

// Fails if: the ranges of a deleted stream are taken for those of another one with its name.
TEST_F(ShardMapTest, NoRangeIsKnownAfterTheStreamWasMissingUntilALaterListing) {
  List({{{0}, {0, kMaxHashKey}}, {{5}, {0, 9}}});
  now_ = now_ + seconds(10);
  map_.Doubt(now_);
  ASSERT_TRUE(map_.Next(now_).list);
  EXPECT_TRUE(map_.OnStreamMissing(now_ + milliseconds(1)));
  EXPECT_FALSE(map_.OnStreamMissing(now_ + milliseconds(1))) << "no range is left";
  EXPECT_EQ(map_.ShardOf(5), std::nullopt);
  EXPECT_EQ(map_.RangeOf({0}), std::nullopt);
  map_.OnListed(ShardPage{{{{0}, {0, kMaxHashKey}}}, ""}, now_ + milliseconds(2));
  EXPECT_EQ(map_.RangeOf({0}), std::nullopt) << "it began before";
  EXPECT_EQ(map_.listings(), 1U);
  now_ = now_ + seconds(1);
  List({{{0}, {0, 9}}, {{1}, {10, kMaxHashKey}}});
  EXPECT_EQ(map_.RangeOf({0}), (HashRange{0, 9}));
  EXPECT_EQ(map_.RangeOf({5}), std::nullopt) << "a shard of the deleted stream";
}

// Fails if: closed shards of a stream that was created again are known by the ranges that they had
// in the deleted one.
TEST_F(ShardMapTest, AShardWithAnotherRangeOrThatOpensAgainEndsAllThatIsKnown) {
  const auto list_again = [this](std::vector<Shard> shards) {
    now_ = now_ + seconds(2);
    map_.Doubt(now_);
    List(std::move(shards));
  };
  const Shard rest{{6}, {10, kMaxHashKey}};
  List({{{0}, {0, 9}}, {{5}, {10, kMaxHashKey}}});
  list_again({{{0}, {0, 9}}, rest});
  ASSERT_EQ(map_.RangeOf({5}), (HashRange{10, kMaxHashKey})) << "closed lately";
  list_again({{{0}, {0, 99}}, rest});
  EXPECT_EQ(map_.RangeOf({5}), std::nullopt) << "shard 0 has another range";
  list_again({{{1}, {0, 9}}, rest});
  ASSERT_NE(map_.RangeOf({0}), std::nullopt);
  list_again({{{1}, {0, 9}}, {{0}, {0, 99}}, rest});
  EXPECT_TRUE(map_.RangeOf({0}));
  list_again({{{0}, {0, 99}}, rest});
  ASSERT_TRUE(map_.RangeOf({1}));
  list_again({{{1}, {0, 9}}, rest});
  EXPECT_FALSE(map_.RangeOf({0})) << "shard 1 has opened again";
}

// Fails if: records that are put then wait for a listing as they do at the beginning.
TEST_F(ShardMapTest, AListingThatIsIgnoredIsAnAnswer) {
  map_.Next(now_);
  map_.OnListed(Fail(Code::kUnavailable, "x"), now_);
  ASSERT_TRUE(map_.has_listing());
  now_ = now_ + seconds(5);
  ASSERT_TRUE(map_.Next(now_).list);
  map_.OnStreamMissing(now_ + milliseconds(1));
  map_.OnListed(ShardPage{{{{0}, {0, kMaxHashKey}}}, ""}, now_ + milliseconds(2));
  EXPECT_EQ(map_.listings(), 0U);
  EXPECT_TRUE(map_.has_listing());
}

// Fails if: the listing that the event itself begins counts as one from before.
TEST_F(ShardMapTest, AListingThatBeginsWithTheEventCounts) {
  List({{{0}, {0, kMaxHashKey}}});
  now_ = now_ + seconds(10);
  EXPECT_TRUE(map_.OnStreamMissing(now_));
  List({{{0}, {0, kMaxHashKey}}});
  EXPECT_TRUE(map_.IsOpen({0}));
}

TEST_F(ShardMapTest, RefusesAListingThatCannotBe) {
  map_.Next(now_);
  map_.OnListed(ShardPage{{{{1}, {9, 5}}}, ""}, now_);
  EXPECT_EQ(map_.listings(), 0U);
  EXPECT_TRUE(map_.has_listing());
  EXPECT_EQ(map_.last_error()->code, Code::kDataLoss);
  ShardMap small({.max_shards = 1}, 1);
  small.Next(now_);
  small.OnListed(ShardPage{{{{1}, {0, 5}}, {{2}, {6, kMaxHashKey}}}, ""}, now_);
  EXPECT_EQ(small.last_error()->code, Code::kResourceExhausted);
}

// Fails if: a listing whose pages never end continues without end; its pages, or those of earlier
// listings, count for the next one.
TEST_F(ShardMapTest, I14AListingOfTooManyPagesIsRefused) {
  ShardMap map({.max_pages = 3}, 1);
  for (int page = 1; page <= 4; ++page) {
    EXPECT_FALSE(map.has_listing()) << page;
    ASSERT_TRUE(map.Next(now_).list) << page;
    map.OnListed(ShardPage{{}, "more" + std::to_string(page)}, now_);
  }
  ASSERT_TRUE(map.last_error());
  EXPECT_EQ(map.last_error()->code, Code::kResourceExhausted);
  EXPECT_THAT(map.last_error()->message, HasSubstr("more than 3 pages"));
  for (std::uint64_t listing = 1; listing <= 3; ++listing) {
    now_ = now_ + seconds(60);
    map.Doubt(now_);
    for (const char* token : {"more", "still more", ""}) {
      const ShardMap::Step step = map.Next(now_);
      ASSERT_TRUE(step.list);
      map.OnListed(ShardPage{{{{1}, {0, kMaxHashKey}}}, token}, now_);
    }
    EXPECT_EQ(map.listings(), listing);
    EXPECT_EQ(map.last_error(), std::nullopt);
  }
}

// Fails if: records that are put before the first listing wait, until they expire, for a listing
// that does not end.
TEST_F(ShardMapTest, I14AListingThatTakesTooLongIsGivenUp) {
  ShardMap map({}, 1);
  const Instant begin = now_;
  for (int page = 1; !map.has_listing(); ++page) {
    ASSERT_TRUE(map.Next(now_).list) << page;
    now_ = now_ + milliseconds(50);
    ASSERT_LE(now_, begin + seconds(11));
    map.OnListed(ShardPage{{}, std::to_string(page)}, now_);
  }
  EXPECT_EQ(map.last_error()->code, Code::kDeadlineExceeded);
}

TEST_F(ShardMapTest, I14APageThatNamesItselfAsTheNextOneIsAnError) {
  ShardMap map({}, 1);
  ASSERT_TRUE(map.Next(now_).list);
  map.OnListed(ShardPage{{}, "again"}, now_);
  EXPECT_FALSE(map.has_listing());
  ASSERT_TRUE(map.Next(now_).list);
  map.OnListed(ShardPage{{}, "again"}, now_);
  ASSERT_TRUE(map.last_error());
  EXPECT_EQ(map.last_error()->code, Code::kDataLoss);
}

// Fails if: a response that is no listing, or one of another program, removes all shards.
TEST_F(ShardMapTest, AListingWithoutShardsIsRefused) {
  List({{{1}, {0, kMaxHashKey}}});
  now_ = now_ + seconds(5);
  map_.Doubt(now_);
  List({});
  ASSERT_TRUE(map_.last_error());
  EXPECT_EQ(map_.last_error()->code, Code::kDataLoss);
  EXPECT_EQ(map_.ShardOf(7), ShardId{1});
  EXPECT_TRUE(map_.Next(now_).wake) << "it is listed again";
}

// Fails if: keys that a listing has left out have no shard for ever; the listings of a stream that
// always leaves some out do not back off.
TEST_F(ShardMapTest, AListingThatLeavesKeysOutIsRepeated) {
  for (const HashRange& left_out :
       {HashRange{0, 9}, HashRange{10, 10}, HashRange{11, kMaxHashKey}}) {
    const auto shards = [&](bool all) {
      std::vector<Shard> listed{{{1}, {0, 9}}, {{2}, {10, 10}}, {{3}, {11, kMaxHashKey}}};
      if (!all) std::erase_if(listed, [&](const Shard& s) { return s.range == left_out; });
      return listed;
    };
    ShardMap map({}, 1);
    Instant now = kStart;
    int listings = 0;
    const auto list_until = [&](Instant end, bool all) {
      while (true) {
        const ShardMap::Step step = map.Next(now);
        if (step.list) {
          map.OnListed(ShardPage{shards(all), ""}, now);
          ++listings;
        } else if (step.wake && *step.wake < end) {
          now = *step.wake;
        } else {
          return;
        }
      }
    };
    list_until(kStart + seconds(600), false);
    EXPECT_EQ(map.ShardOf(left_out.first), std::nullopt);
    EXPECT_EQ(map.ShardOf(left_out.first == 10 ? 9 : 10), ShardId{left_out.first == 10 ? 1U : 2U});
    EXPECT_GE(listings, 20);
    EXPECT_LE(listings, 80) << "15 s apart on average";
    list_until(now + seconds(31), true);
    EXPECT_TRUE(map.ShardOf(left_out.first));
    EXPECT_FALSE(map.Next(now + seconds(600)).list);
  }
}

/// A map whose listings have left keys out for long, so that the random waits are long, too.
struct Incomplete {
  explicit Incomplete(std::uint64_t seed) : map({}, seed) {
    for (int i = 0; i < 10; ++i) {
      Begin();
      End();
    }
  }
  void Begin() {
    ShardMap::Step step = map.Next(now);
    if (step.wake) {
      now = *step.wake;
      step = map.Next(now);
    }
    ASSERT_TRUE(step.list);
  }
  void End() { map.OnListed(ShardPage{{{{1}, {0, 9}}, {{3}, {11, kMaxHashKey}}}, ""}, now); }
  /// Returns when the next listing begins.
  Instant NextListing(Instant at) {
    const ShardMap::Step step = map.Next(at);
    EXPECT_FALSE(step.list);
    return step.wake.value_or(at);
  }

  ShardMap map;
  Instant now = kStart;
};

// Fails if: after a listing that has left keys out, a response that contradicts the map waits for
// up to 30 s instead of least_gap for the next listing; a doubt from before that listing does not
// wait.
TEST_F(ShardMapTest, ADoubtDoesNotWaitAsLongAsTheRepetitionOfAnIncompleteListing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Incomplete idle(seed);
    const Instant repeated = idle.NextListing(idle.now);
    idle.map.Doubt(idle.now - milliseconds(1));
    EXPECT_EQ(idle.NextListing(idle.now), repeated);
    idle.map.Doubt(idle.now + milliseconds(1));
    EXPECT_EQ(idle.NextListing(idle.now + milliseconds(1)), idle.now + seconds(1));
    Incomplete missing(seed);
    missing.map.OnStreamMissing(missing.now + milliseconds(1));
    EXPECT_EQ(missing.NextListing(missing.now + milliseconds(1)), missing.now + seconds(1));
    Incomplete running(seed);
    running.Begin();
    running.map.Doubt(running.now + milliseconds(1));
    running.End();
    EXPECT_EQ(running.NextListing(running.now), running.now + seconds(1));
  }
}

// Fails if: a doubt shortens the wait after a listing that failed.
TEST_F(ShardMapTest, ADoubtWaitsAsLongAsTheRepetitionOfAFailedListing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Incomplete failed(seed);
    failed.Begin();
    failed.map.OnListed(Fail(Code::kUnavailable, "no"), failed.now);
    const Instant repeated = failed.NextListing(failed.now);
    failed.map.Doubt(failed.now);
    EXPECT_EQ(failed.NextListing(failed.now), repeated);
  }
}

}  // namespace
}  // namespace weir::kinesis
