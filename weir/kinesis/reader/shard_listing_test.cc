#include "weir/kinesis/reader/shard_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;

/// A listing, and the failures that it counts.
struct Listed {
  explicit Listed(std::uint32_t max_tries = 2) : failures({.max_tries = max_tries}, 1) {}

  ReadFailures failures;
  ShardListing listing{failures.NewSeries()};
  std::uint64_t id = 0;
  Instant now = kStart;

  /// Requests the page that is due. Returns its token.
  std::string Request() {
    now = std::max(now, listing.NextWake().value());
    return listing.Begin(++id);
  }
  Result<std::optional<ShardListing::Shards>> Response(const ShardListing::Response& response) {
    EXPECT_TRUE(listing.IsInFlight(id));
    return listing.OnResponse(response, now, failures);
  }
};

std::string PageOf(int shard, std::string_view token = "") {
  std::string body = fmt::format(
      R"({{"Shards":[{{"ShardId":"shardId-{:012}","HashKeyRange":{{"StartingHashKey":"0",)"
      R"("EndingHashKey":"340282366920938463463374607431768211455"}},"SequenceNumberRange":{{"StartingSequenceNumber":"1"}}}}])",
      shard);
  if (!token.empty()) body += fmt::format(R"(,"NextToken":"{}")", token);
  return body + "}";
}

AwsFailure ListingFailure(std::string code = "InternalFailure") {
  return {.kind = FailureClass::kTransient, .code = std::move(code), .http_status = 500};
}

TEST(ShardListing, CollectsThePages) {
  Listed listed;
  EXPECT_TRUE(listed.listing.is_pending());
  EXPECT_EQ(listed.Request(), "");
  EXPECT_FALSE(listed.listing.NextWake()) << "one page at a time";
  EXPECT_TRUE(listed.listing.is_pending());
  EXPECT_FALSE(listed.Response(PageOf(1, "t")).value());
  EXPECT_EQ(listed.Request(), "t");
  const auto shards = listed.Response(PageOf(2)).value();
  ASSERT_TRUE(shards);
  ASSERT_EQ(shards->size(), 2U);
  EXPECT_EQ((*shards)[1].id, ShardId{2});
  listed.listing.Finish(false, listed.now, listed.failures);
  EXPECT_FALSE(listed.listing.is_pending());
  EXPECT_FALSE(listed.listing.NextWake());
}

// Fails if: a shard that is needed while a listing runs is not looked for again.
TEST(ShardListing, AListingThatRunsIsFollowedByAnotherOne) {
  Listed listed;
  listed.Request();
  listed.listing.Want();
  EXPECT_TRUE(listed.Response(PageOf(1)).value());
  listed.listing.Finish(false, listed.now, listed.failures);
  EXPECT_EQ(listed.listing.NextWake(), listed.now + seconds(1));
  EXPECT_EQ(listed.Request(), "");
}

TEST(ShardListing, AListingThatIsRepeatedWaitsLonger) {
  Listed listed;
  listed.Request();
  EXPECT_TRUE(listed.Response(PageOf(1)).value());
  listed.listing.Finish(true, listed.now, listed.failures);
  EXPECT_GE(listed.listing.NextWake(), listed.now + seconds(1));
}

TEST(ShardListing, AFailedPageIsRequestedAgainWithItsToken) {
  Listed listed;
  listed.Request();
  EXPECT_FALSE(listed.Response(PageOf(1, "t")).value());
  listed.Request();
  EXPECT_FALSE(listed.Response(tl::unexpected(ListingFailure())).value());
  EXPECT_TRUE(listed.failures.any());
  EXPECT_EQ(listed.Request(), "t");
  EXPECT_TRUE(listed.Response(PageOf(2)).value());
  EXPECT_FALSE(listed.failures.any());
}

TEST(ShardListing, TooManyFailuresAreAnError) {
  Listed listed;
  listed.Request();
  EXPECT_TRUE(listed.Response("not a page")) << "it counts as lost";
  listed.Request();
  EXPECT_FALSE(listed.Response(tl::unexpected(ListingFailure())));
}

// Fails if: the shards of the pages before are returned twice.
TEST(ShardListing, AnExpiredTokenBeginsTheListingAgain) {
  Listed listed;
  listed.Request();
  EXPECT_FALSE(listed.Response(PageOf(1, "t")).value());
  listed.Request();
  EXPECT_FALSE(
      listed.Response(tl::unexpected(ListingFailure("ExpiredNextTokenException"))).value());
  EXPECT_EQ(listed.Request(), "");
  EXPECT_EQ(listed.Response(PageOf(1)).value()->size(), 1U);
}

/// Takes the first page of a listing whose next token has expired. Returns the response to that.
Status ListWithExpiredToken(Listed& listed) {
  EXPECT_EQ(listed.Request(), "") << "each listing begins with the first page";
  EXPECT_FALSE(listed.Response(PageOf(1, "t")).value());
  EXPECT_EQ(listed.Request(), "t");
  const auto end = listed.Response(tl::unexpected(ListingFailure("ExpiredNextTokenException")));
  return end ? Status() : Fail(end.error());
}

// Fails if: expired tokens do not count as failures, or the first page ends the series.
TEST(ShardListing, TokensThatExpireAtOnceEndTheReading) {
  Listed listed(6);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(ListWithExpiredToken(listed)) << i;
  EXPECT_TRUE(listed.failures.any());
  const Status last = ListWithExpiredToken(listed);
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code, Code::kUnavailable);
}

// Fails if: one expired token is reported, or the end of a listing does not end the series.
TEST(ShardListing, ATokenThatExpiresOnceIsNoFailure) {
  Listed listed;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(ListWithExpiredToken(listed)) << i;
    EXPECT_FALSE(listed.failures.any());
    listed.Request();
    EXPECT_TRUE(listed.Response(PageOf(1)).value());
    listed.listing.Finish(false, listed.now, listed.failures);
    listed.listing.Want();
  }
}

TEST(ShardListing, AListingThatEndsEndsTheOutageOfExpiredTokens) {
  Listed listed(6);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ListWithExpiredToken(listed)) << i;
  EXPECT_TRUE(listed.failures.any());
  listed.Request();
  EXPECT_TRUE(listed.Response(PageOf(1)).value());
  EXPECT_FALSE(listed.failures.any());
}

// Fails if: the pages of all listings count as those of one.
TEST(ShardListing, I14ManyListingsAreNoLongListing) {
  Listed listed;
  for (int i = 0; i < 1'500; ++i) {
    listed.listing.Want();
    listed.Request();
    ASSERT_TRUE(listed.Response(PageOf(1))) << i;
    listed.listing.Finish(false, listed.now, listed.failures);
  }
}

TEST(ShardListing, IgnoresOtherIds) {
  Listed listed;
  EXPECT_FALSE(listed.listing.IsInFlight(0));
  listed.Request();
  EXPECT_FALSE(listed.listing.IsInFlight(listed.id + 1));
}
}  // namespace
}  // namespace weir::kinesis
