// The cases of the Kinesis Producer Library's retrier: those in which it is right, and those in
// which it loses records that it acknowledged.
#include "weir/kinesis/pipeline/delivery_check.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "weir/kinesis/testing/record_fixture.h"
#include "weir/kinesis/wire/deaggregate.h"

namespace weir::kinesis {
namespace {

using Verdict = DeliveryCheck::Verdict;

ShardMap MapOf(std::vector<Shard> shards) {
  ShardMap map({}, 1);
  map.Next(kStart);
  map.OnListed(ShardPage{std::move(shards), ""}, kStart);
  return map;
}

KinesisRecord RecordOfHashes(std::vector<std::uint64_t> hashes, std::optional<ShardId> expected) {
  KinesisRecord record{.shard = expected};
  AggregateWriter writer;
  for (const std::uint64_t hash : hashes) {
    record.records.push_back(
        {.partition_key = "k", .explicit_hash_key = FormatHashKey(hash), .hash = hash});
    writer.Add(record.records.back().View());
  }
  record.data = writer.Take();
  return record;
}

Attempt StoredBy(std::uint64_t shard, Instant began) {
  return {.began = began, .shard = ShardId{shard}};
}

/// Judges by a map that was listed after the request had begun.
DeliveryCheck Judge(const std::vector<std::uint64_t>& hashes, std::optional<ShardId> expected,
                    std::uint64_t actual, std::vector<Shard> shards) {
  return CheckDelivery(RecordOfHashes(hashes, expected), StoredBy(actual, kStart - milliseconds(1)),
                       MapOf(std::move(shards)));
}

TEST(Verdict, StoredWhereItWasExpected) {
  const DeliveryCheck delivery = Judge({1, 5}, ShardId{0}, 0, {{{0}, {0, 10}}});
  EXPECT_EQ(delivery.verdict, Verdict::kStored);
  EXPECT_FALSE(delivery.doubt);
}

TEST(Verdict, StoredOnAChildThatHoldsAllOfIt) {
  const DeliveryCheck delivery = Judge({0, 1, 5, 10}, ShardId{0}, 4, {{{4}, {0, 10}}});
  EXPECT_EQ(delivery.verdict, Verdict::kStored);
  EXPECT_TRUE(delivery.doubt) << "the map was behind";
}

// The library acknowledges records 1 and 2 here, and no consumer delivers them.
TEST(Verdict, MixedWhereOneHashIsOutside) {
  const DeliveryCheck delivery =
      Judge({1, 2, 11}, ShardId{0}, 4, {{{4}, {0, 10}}, {{5}, {11, 20}}});
  EXPECT_EQ(delivery.verdict, Verdict::kMixed);
  EXPECT_TRUE(delivery.doubt);
}

// The library sends the whole aggregate again; after a merge all of it is then delivered twice.
TEST(Verdict, UnknownWhereTheShardIs) {
  const DeliveryCheck delivery = Judge({1, 2}, ShardId{0}, 4, {{{0}, {0, 10}}});
  EXPECT_EQ(delivery.verdict, Verdict::kUnknown);
  EXPECT_TRUE(delivery.doubt);
  EXPECT_TRUE(Judge({1, 2}, std::nullopt, 4, {}).doubt) << "so that it becomes known";
}

TEST(Verdict, OneHashIsStoredWhereverItLanded) {
  const DeliveryCheck single = Judge({7}, ShardId{0}, 4, {{{0}, {0, 10}}});
  EXPECT_EQ(single.verdict, Verdict::kStored);
  EXPECT_TRUE(single.doubt);
  EXPECT_EQ(Judge({7, 7, 7}, ShardId{0}, 4, {}).verdict, Verdict::kStored);
}

// A stream that was created again may have fewer shards. (ShardMap::Doubt ignores responses to
// requests from before the listing.) Fails if: only younger shards are a reason to list.
TEST(Verdict, AnOlderShardThanExpectedIsADoubt) {
  const DeliveryCheck delivery = Judge({1, 2}, ShardId{4}, 0, {{{0}, {0, 10}}, {{4}, {0, 10}}});
  EXPECT_EQ(delivery.verdict, Verdict::kStored);
  EXPECT_TRUE(delivery.doubt);
  EXPECT_FALSE(Judge({1, 2}, ShardId{4}, 0, {{{0}, {0, 10}}}).doubt)
      << "the map has changed since the record was framed";
}

// Fails if: the range of a closed shard, or of another one than was expected, is used for a stream
// that was created again: consumers drop the aggregate.
TEST(Verdict, AResponseThatContradictsAnEarlierListingIsNotJudgedByIt) {
  const ShardMap map = MapOf({{{0}, {0, 10}}, {{4}, {0, 10}}});
  const KinesisRecord record = RecordOfHashes({1, 2}, ShardId{4});
  EXPECT_EQ(CheckDelivery(record, StoredBy(4, kStart), map).verdict, Verdict::kStored);
  const DeliveryCheck contradicts = CheckDelivery(record, StoredBy(0, kStart), map);
  EXPECT_EQ(contradicts.verdict, Verdict::kUnknown);
  EXPECT_TRUE(contradicts.doubt);
  EXPECT_EQ(CheckDelivery(RecordOfHashes({1, 1}, ShardId{4}), StoredBy(0, kStart), map).verdict,
            Verdict::kStored);
  EXPECT_EQ(CheckDelivery(RecordOfHashes({1, 2}, ShardId{0}), StoredBy(4, kStart), map).verdict,
            Verdict::kStored)
      << "it was framed before the listing, and sent after it";
}

// Fails if: the ranges of the new stream decide about an aggregate that the deleted one stored.
TEST(Verdict, NoListingShowsTheRangesOfADeletedStream) {
  ShardMap map = MapOf({{{0}, {0, 5}}});
  map.OnStreamMissing(kStart + milliseconds(5));
  map.Next(kStart + std::chrono::seconds(1));
  map.OnListed(ShardPage{{{{0}, {0, 10}}}, ""}, kStart + std::chrono::seconds(1));
  const auto judge = [&](std::vector<std::uint64_t> hashes, Instant began) {
    return CheckDelivery(RecordOfHashes(std::move(hashes), ShardId{0}), StoredBy(0, began), map);
  };
  EXPECT_EQ(judge({1, 6}, kStart).verdict, Verdict::kNeverKnown);
  EXPECT_EQ(judge({1, 1}, kStart).verdict, Verdict::kStored) << "whichever shard it was";
  EXPECT_EQ(judge({1, 6}, kStart + std::chrono::seconds(2)).verdict, Verdict::kStored);
}

TEST(Verdict, WithoutAnExpectationTheRangeDecides) {
  EXPECT_EQ(Judge({1, 2}, std::nullopt, 0, {{{0}, {0, 10}}}).verdict, Verdict::kStored);
  EXPECT_EQ(Judge({1, 12}, std::nullopt, 0, {{{0}, {0, 10}}}).verdict, Verdict::kMixed);
}

// Fails if: a record that counts as stored is dropped by a consumer of that shard, or the reverse.
RC_GTEST_PROP(VerdictProperty, IsTheConsumersRule, ()) {
  const auto hashes = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 30)));
  const auto first = *rc::gen::inRange<std::uint64_t>(0, 30);
  const HashRange range{first, *rc::gen::inRange<std::uint64_t>(first, 31)};
  const KinesisRecord record = RecordOfHashes(hashes, std::nullopt);
  const DeliveryCheck delivery = CheckDelivery(record, StoredBy(4, kStart), MapOf({{{4}, range}}));
  const auto delivered = Deaggregate("k", record.data, range);
  RC_ASSERT(delivered.has_value());
  const bool one_hash =
      std::ranges::all_of(hashes, [&](std::uint64_t hash) { return hash == hashes[0]; });
  // A shard never stores a record of one hash that is outside of its range.
  if (one_hash && !range.Contains(hashes[0])) return;
  RC_ASSERT((delivery.verdict == Verdict::kStored) == (delivered->size() == hashes.size()));
}

}  // namespace
}  // namespace weir::kinesis
