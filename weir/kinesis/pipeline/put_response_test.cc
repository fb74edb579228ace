#include "weir/kinesis/pipeline/put_response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "weir/kinesis/pipeline/attempts.h"
#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using ::testing::SizeIs;

TEST(PutAnswer, EachEntryHasItsResponse) {
  const auto matched = MatchEntries({{.shard = "a"}, {.shard = "b"}}, 2);
  ASSERT_THAT(matched, SizeIs(2));
  EXPECT_EQ(matched[0].shard, "a");
  EXPECT_EQ(matched[1].shard, "b");
}

// Fails if: responses are assigned to entries although one of them is missing.
TEST(PutAnswer, WithAnotherCountNoEntryHasAResponse) {
  for (const std::size_t sent : {1U, 3U}) {
    const auto matched = MatchEntries({{.shard = "a"}, {.shard = "b"}}, sent);
    ASSERT_THAT(matched, SizeIs(sent));
    for (const EntryResponse& entry : matched) {
      EXPECT_EQ(entry.shard, "");
      EXPECT_EQ(entry.code, kCountMismatch);
    }
  }
  EXPECT_EQ(MatchEntries({{.shard = "a"}, {.shard = "b"}}, 1).front().message,
            "1 entries were sent, but the response has 2");
}

TEST(PutAnswer, OneEntryMayPoisonARequest) {
  for (const char* code :
       {"ValidationException", "InvalidArgumentException", "SerializationException"}) {
    EXPECT_TRUE(MayBePoisoned({.code = code})) << code;
  }
  EXPECT_TRUE(MayBePoisoned({.http_status = 413}));
  EXPECT_FALSE(MayBePoisoned({.code = "InternalFailure", .http_status = 500}));
}

TEST(PutAnswer, ARequestIsUnsentIfNothingOfItMayHaveBeenReceived) {
  EXPECT_TRUE(IsUnsent({.http_status = 0}));
  EXPECT_FALSE(IsUnsent({.http_status = 0, .maybe_applied = true}));
  EXPECT_FALSE(IsUnsent({.http_status = 503}));
}

// Fails if: a request that may have been applied is retried without maybe_duplicate.
TEST(PutAnswer, ARequestThatMayHaveBeenAppliedIsAmbiguous) {
  EXPECT_EQ(ClassOfRequest({.kind = FailureClass::kPermanent, .maybe_applied = true}),
            FailureClass::kAmbiguous);
  EXPECT_EQ(ClassOfRequest({.kind = FailureClass::kDeadline}), FailureClass::kTransient);
  EXPECT_EQ(ClassOfRequest({.kind = FailureClass::kThrottle}), FailureClass::kThrottle);
}
}  // namespace
}  // namespace weir::kinesis
