// Buckets whose stored time is far ahead of T: it is marked, and set back once it has not moved for
// a minute.
#include "weir/dynamo/bucket_ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "weir/dynamo/bucket_plan.h"
#include "weir/dynamo/bucket_store.h"
#include "weir/dynamo/dynamo_fixture.h"
#include "weir/dynamo/shard_plan.h"
#include "weir/dynamo/sharding_fixture.h"
#include "weir/telemetry/recording_log_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const BucketKey kAheadBucket{"acme", "llm", 0};
const Keys kAheadKeys("ns");

class BucketAheadTest : public testing::Test {
 protected:
  struct Process {
    Process(BucketAheadTest& test, std::uint64_t seed)
        : store(test.table_.table, kAheadKeys, test.table_.scheduler,
                {.seed = seed, .log = &test.log_}) {}
    DynamoBucketStore store;
  };

  UnixMillis Now() { return table_.table.Now(); }
  Decision AskAt(UnixMillis now, Process& process, const TargetPtr& target, std::int64_t tokens) {
    const Charge charge{target, {tokens * kMillitokens}};
    auto decision = table_.Ask<Decision>([&](Done<Decision> done) {
      process.store.Acquire({&charge, 1}, now, Deadline::Never(), std::move(done));
    });
    EXPECT_TRUE(decision.has_value()) << decision.error().message;
    return decision.value_or(Decision{});
  }
  Decision Ask(Process& process, std::int64_t tokens) {
    return AskAt(Now(), process, sixty_, tokens);
  }
  bool Takes(Process& process, std::int64_t tokens) { return Ask(process, tokens).admitted; }
  void Adjust(Process& process, std::int64_t tokens) {
    const Charge charge{sixty_, {tokens * kMillitokens}};
    const Status status = table_.Ask<void>([&](Done<void> done) {
      process.store.Adjust({&charge, 1}, {1, ++tokens_}, Now(), Deadline::Never(), std::move(done));
    });
    EXPECT_TRUE(status.has_value()) << status.error().message;
  }
  void Pass(nanoseconds time) { table_.scheduler.Advance(time); }

  Item Stored(const BucketKey& key = kAheadBucket) {
    return table_.Get(kAheadKeys.Bucket(key)).value_or(Item{});
  }
  std::optional<std::int64_t> Number(const std::string& name) { return GetNumber(Stored(), name); }
  UnixMillis Rf() { return {Number("rf").value_or(0)}; }
  std::optional<std::string> Mark() {
    const Item item = Stored();
    const std::string* text = GetText(item, kAhead);
    return text == nullptr ? std::nullopt : std::optional(*text);
  }
  void ReplaceBy(Item item) { table_.Put(std::move(item)); }
  void Set(std::string_view name, Value value) {
    Item item = Stored();
    item.insert_or_assign(std::string(name), std::move(value));
    table_.Put(std::move(item));
  }
  /// The write of a client that refills by a clock of its own.
  UnixMillis MoveTime(milliseconds ahead) {
    const UnixMillis time = Now() + ahead;
    Set("rf", Of(time.value));
    return time;
  }
  /// A bucket with this number of its 60 tokens, and a time an hour ahead.
  UnixMillis LeaveAnHourAhead(std::int64_t tokens) {
    Process maker(*this, 90);
    EXPECT_TRUE(Takes(maker, 60 - tokens));
    Set("ttl", Of((Now() + hours(24)).value / 1000));
    return MoveTime(hours(1));
  }
  std::uint64_t Updates() { return table_.server.counts().Requests("UpdateItem"); }

  SimTable table_;
  RecordingLog log_;
  Process here_{*this, 3};
  Process there_{*this, 4};
  std::uint64_t tokens_ = 0;
  const TargetPtr sixty_ = MakeTarget(kAheadBucket, {{"rpm", PerMinute(60)}});
};

// Fails if: it is set back at once, without its tokens, or without a report.
TEST_F(BucketAheadTest, C4ATimeAnHourAheadIsSetBackAfterAMinuteAndItsTokensStay) {
  const UnixMillis ahead = LeaveAnHourAhead(10);
  const UnixMillis seen = Now();
  ASSERT_TRUE(Takes(here_, 4));
  EXPECT_EQ(Rf(), ahead);
  EXPECT_EQ(Mark(), FormatAhead({ahead, seen}));
  Pass(minutes(1) - milliseconds(1));
  ASSERT_TRUE(Takes(there_, 1));
  EXPECT_EQ(Rf(), ahead);
  EXPECT_THAT(log_.lines(), IsEmpty());
  Pass(milliseconds(1));
  ASSERT_TRUE(Takes(here_, 1));
  EXPECT_EQ(Rf(), seen + minutes(1));
  EXPECT_EQ(Mark(), std::nullopt);
  EXPECT_EQ(Number("b_rpm_tk"), 4'000);
  EXPECT_THAT(log_.lines(), ElementsAre("warning clock.stored_time_ahead entity=acme resource=llm "
                                        "shard=0 ahead_ms=3540000"));
}

// Fails if: a mark costs a request, or the image from before the set-back stays.
TEST_F(BucketAheadTest, C4AnAdmittedRequestMarksAndSetsBackInItsOwnWrite) {
  LeaveAnHourAhead(40);
  ASSERT_TRUE(AskAt(Now(), here_, sixty_, 0).admitted) << "from now on it remembers the bucket";
  const std::uint64_t calls = table_.client.calls();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Takes(here_, 1));
  EXPECT_EQ(table_.client.calls(), calls + 3);
  Pass(minutes(1));
  ASSERT_TRUE(AskAt(Now(), here_, sixty_, 0).admitted) << "it is read again";
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Takes(here_, 1));
  EXPECT_EQ(table_.client.calls(), calls + 7);
  EXPECT_EQ(Mark(), std::nullopt);
  EXPECT_EQ(Rf(), Now());
}

TEST_F(BucketAheadTest, C4ATimeUpToAMinuteAheadStaysAndCostsNothing) {
  LeaveAnHourAhead(10);
  const UnixMillis ahead = MoveTime(minutes(1));
  const Decision refused = Ask(here_, 20);
  ASSERT_FALSE(refused.admitted);
  EXPECT_EQ(refused.retry_after, minutes(1) + seconds(10));
  ASSERT_TRUE(Takes(here_, 1));
  EXPECT_EQ(Rf(), ahead);
  EXPECT_EQ(Mark(), std::nullopt);
}

// Also if no request came in between. Fails if: the time begins again with the write that sets it
// back.
TEST_F(BucketAheadTest, C4TheWaitOfARefusalIsTrue) {
  LeaveAnHourAhead(10);
  const Decision refused = Ask(here_, 30);
  ASSERT_FALSE(refused.admitted);
  EXPECT_EQ(refused.retry_after, minutes(1) + seconds(20));
  ASSERT_NE(Mark(), std::nullopt) << "a refusal marks it, too";
  Pass(refused.retry_after - milliseconds(1));
  EXPECT_EQ(Ask(there_, 30).retry_after, milliseconds(1));
  EXPECT_EQ(Rf(), Now()) << "a refusal sets it back, too";
  EXPECT_EQ(log_.lines().size(), 1U);
  Pass(milliseconds(1));
  EXPECT_TRUE(Takes(here_, 30));
}

TEST_F(BucketAheadTest, C4RefusalsWriteOnceToMarkAndOnceToSetBack) {
  LeaveAnHourAhead(0);
  const std::uint64_t updates = Updates();
  for (int i = 0; i < 30; ++i) {
    EXPECT_FALSE(Takes(i % 2 == 0 ? here_ : there_, 60));
    Pass(seconds(1));
  }
  EXPECT_EQ(Updates(), updates + 1);
  Pass(seconds(30));
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(Takes(i % 2 == 0 ? here_ : there_, 60));
    Pass(seconds(1));
  }
  EXPECT_EQ(Updates(), updates + 2);
}

// Fails if: a mark of another time counts.
TEST_F(BucketAheadTest, C4ATimeThatMovesIsNotSetBack) {
  LeaveAnHourAhead(10);
  for (int i = 0; i < 60; ++i) {
    const UnixMillis ahead = MoveTime(hours(1));
    Ask(here_, 30);
    Pass(seconds(50));
    Ask(there_, 30);
    Pass(seconds(5));
    EXPECT_EQ(Rf(), ahead);
  }
  EXPECT_THAT(log_.lines(), IsEmpty());
}

// Fails if: the write that sets it back does not require the time that was seen.
TEST_F(BucketAheadTest, C4AWriterThatMovesItInBetweenKeepsItsTime) {
  LeaveAnHourAhead(10);
  EXPECT_FALSE(Takes(here_, 30));
  Pass(minutes(2));
  UnixMillis moved;
  table_.client.before_each = [&](const JsonCall& call) {
    if (call.operation == "UpdateItem" && moved == UnixMillis{}) moved = MoveTime(hours(1));
  };
  EXPECT_FALSE(Takes(here_, 30)) << "it would have been admitted";
  ASSERT_NE(moved, UnixMillis{});
  EXPECT_EQ(Rf(), moved);
  EXPECT_THAT(log_.lines(), IsEmpty());
}

// Fails if: both refill from the time that they set it back from.
TEST_F(BucketAheadTest, C4OfTwoProcessesThatSetItBackOneDoes) {
  LeaveAnHourAhead(10);
  EXPECT_FALSE(Takes(here_, 30));
  Pass(minutes(2));
  bool first = true;
  int admitted = 0;
  table_.client.before_each = [&](const JsonCall& call) {
    if (call.operation != "UpdateItem" || !std::exchange(first, false)) return;
    const Charge charge{sixty_, {50'000}};
    there_.store.Acquire({&charge, 1}, Now(), Deadline::Never(),
                         [&](const Result<Decision>& decision) {
                           admitted += decision && decision->admitted ? 1 : 0;
                         });
  };
  admitted += Takes(here_, 50) ? 1 : 0;
  EXPECT_EQ(admitted, 1) << "60 after a minute, since then full";
  EXPECT_EQ(Rf(), Now());
  EXPECT_EQ(log_.lines().size(), 1U);
}

// A process that has not seen the mark would begin the minute again.
TEST_F(BucketAheadTest, C4AProcessWithAnOldImageKeepsTheMarkOfOthers) {
  const UnixMillis ahead = LeaveAnHourAhead(30);
  ASSERT_TRUE(AskAt(Now(), there_, sixty_, 0).admitted) << "it remembers no mark";
  const UnixMillis seen = Now();
  ASSERT_TRUE(Takes(here_, 1));
  Pass(seconds(30));
  ASSERT_TRUE(Takes(there_, 1));
  EXPECT_EQ(Mark(), FormatAhead({ahead, seen}));
  EXPECT_EQ(Number("b_rpm_tk"), 28'000);
}

// Fails if: an add of such a process does not require that its time was not set back. The bucket is
// full, and a take that does not see this leaves space for a refill that is over. (A ttl that was
// moved would fail the add, too.)
TEST_F(BucketAheadTest, C4AnImageFromBeforeItWasSetBackAdmitsNoMore) {
  LeaveAnHourAhead(30);
  Item item = Stored();
  item.erase("ttl");
  ReplaceBy(item);
  ASSERT_TRUE(AskAt(Now(), there_, sixty_, 0).admitted);
  EXPECT_FALSE(Takes(here_, 31));
  Pass(minutes(1));
  EXPECT_FALSE(Takes(here_, 31));
  Pass(minutes(1));
  EXPECT_TRUE(Takes(there_, 30));
  EXPECT_FALSE(Takes(here_, 31)) << "60 at most";
  EXPECT_TRUE(Takes(here_, 30));
}

class BucketAheadMark : public BucketAheadTest, public testing::WithParamInterface<Value> {};
INSTANTIATE_TEST_SUITE_P(BucketAhead, BucketAheadMark,
                         testing::Values(Of("soon"), Of(";"), Of("9;"), Of(7), Of(true),
                                         Of("99999999999999999999;1"), Of("1;1")));

// Fails if: a mark that cannot be read is kept, is taken for one, or fails each write.
TEST_P(BucketAheadMark, C4AnyOtherValueIsReplaced) {
  const UnixMillis ahead = LeaveAnHourAhead(10);
  Set(kAhead, GetParam());
  const UnixMillis seen = Now();
  ASSERT_TRUE(Takes(here_, 1));
  EXPECT_EQ(Mark(), FormatAhead({ahead, seen}));
  Pass(minutes(1));
  ASSERT_TRUE(Takes(there_, 1));
  EXPECT_EQ(Rf(), Now());
}

TEST_F(BucketAheadTest, C4AMarkOfTheFutureIsReplaced) {
  const UnixMillis ahead = LeaveAnHourAhead(10);
  Set(kAhead, Of(FormatAhead({ahead, Now() + milliseconds(1)})));
  const UnixMillis seen = Now();
  ASSERT_TRUE(Takes(here_, 1));
  EXPECT_EQ(Mark(), FormatAhead({ahead, seen}));
}

TEST_F(BucketAheadTest, C4AMarkOfATimeThatIsOverLeavesWithTheNextRefill) {
  const UnixMillis ahead = LeaveAnHourAhead(10);
  EXPECT_FALSE(Takes(here_, 30));
  ASSERT_NE(Mark(), std::nullopt);
  Set("rf", Of(Now().value));
  Pass(seconds(30));
  EXPECT_TRUE(Takes(there_, 40));
  EXPECT_EQ(Mark(), std::nullopt);
  EXPECT_LT(Rf(), ahead);
}

// The caller's time may be from before a suspension.
TEST_F(BucketAheadTest, C4ACallersTimeThatIsOldMarksNothing) {
  ASSERT_TRUE(Takes(here_, 30));
  const UnixMillis old = Now();
  Pass(hours(2));
  ASSERT_TRUE(Takes(there_, 50));
  for (int i = 0; i < 3; ++i) AskAt(old, here_, sixty_, 20);
  EXPECT_EQ(Mark(), std::nullopt);
  EXPECT_GT(Rf(), old + hours(1));
}

TEST_F(BucketAheadTest, C4ALookStoresNothingAndARefusedOverrideOnlyTheTime) {
  const UnixMillis ahead = LeaveAnHourAhead(10);
  const Item before = Stored();
  ASSERT_TRUE(AskAt(Now(), here_, sixty_, 0).admitted);
  EXPECT_EQ(Stored(), before);
  const TargetPtr thirty =
      MakeTarget(kAheadBucket, {{"rpm", PerMinute(30)}}, LimitSource::kOverride);
  const UnixMillis seen = Now();
  EXPECT_FALSE(AskAt(seen, here_, thirty, 30).admitted);
  EXPECT_EQ(Mark(), FormatAhead({ahead, seen}));
  Pass(minutes(1));
  EXPECT_FALSE(AskAt(Now(), there_, thirty, 30).admitted);
  EXPECT_EQ(Rf(), Now());
  EXPECT_EQ(Number("b_rpm_cp"), 60'000);
  EXPECT_EQ(Number("b_rpm_tk"), 10'000);
}

// Fails if: new limits wait for the time, or the time for them.
TEST_F(BucketAheadTest, C4ARefusalStoresLimitsAndMarkInOneWrite) {
  const UnixMillis ahead = LeaveAnHourAhead(10);
  const TargetPtr thirty = MakeTarget(kAheadBucket, {{"rpm", PerMinute(30)}});
  const std::uint64_t updates = Updates();
  const UnixMillis seen = Now();
  EXPECT_FALSE(AskAt(seen, here_, thirty, 1).admitted);
  EXPECT_EQ(Updates(), updates + 1);
  EXPECT_EQ(Mark(), FormatAhead({ahead, seen}));
  EXPECT_EQ(Number("b_rpm_cp"), 30'000);
  EXPECT_EQ(Number("b_rpm_tk"), -20'000);
}

TEST_F(BucketAheadTest, C4DebtStaysAndAnAdjustSetsTheTimeBack) {
  LeaveAnHourAhead(10);
  Adjust(here_, 100);
  ASSERT_NE(Mark(), std::nullopt);
  Pass(minutes(1));
  Adjust(there_, 5);
  EXPECT_EQ(Number("b_rpm_tk"), -95'000);
  EXPECT_EQ(Rf(), Now());
  EXPECT_EQ(log_.lines().size(), 1U);
  EXPECT_GE(Number("ttl").value_or(0) * 1000, (Now() + seconds(155)).value);
  Pass(seconds(95));
  EXPECT_FALSE(Takes(here_, 1));
  Pass(seconds(1));
  EXPECT_TRUE(Takes(here_, 1));
}

// Fails if: tokens of adjusts are dated, or removed, by a time that is ahead.
TEST_F(BucketAheadTest, C4TokensOfAdjustsLeaveTenMinutesAfterThem) {
  LeaveAnHourAhead(10);
  const auto count = [&] {
    const Item item = Stored();
    return std::ranges::count_if(
        item, [](const auto& attribute) { return attribute.first.starts_with("w_t_"); });
  };
  for (int i = 0; i < 10; ++i) Adjust(here_, 1);
  ASSERT_EQ(count(), 10);
  const TargetPtr thirty = MakeTarget(kAheadBucket, {{"rpm", PerMinute(30)}});
  EXPECT_FALSE(AskAt(Now(), here_, thirty, 30).admitted);
  ASSERT_EQ(Number("b_rpm_cp"), 30'000) << "a write that may remove tokens";
  EXPECT_EQ(count(), 10);
  Pass(minutes(11));
  ASSERT_TRUE(Takes(there_, 1));
  EXPECT_EQ(count(), 6) << "the latest ones";
}

// Fails if: limits that left early are full as much later as the time was ahead.
TEST_F(BucketAheadTest, C4LimitsThatLeftEarlyAreSetBackAlike) {
  const UnixMillis ahead = LeaveAnHourAhead(10);
  Set(kGone, Of(FormatGone({ahead, ahead + minutes(10)})));
  EXPECT_FALSE(Takes(here_, 30));
  Pass(minutes(1));
  EXPECT_FALSE(Takes(here_, 30));
  const Item item = Stored();
  ASSERT_TRUE(item.contains(std::string(kGone)));
  EXPECT_EQ(*GetText(item, kGone), FormatGone({Now(), Now() + minutes(10)}));
}

// Fails if: a shard that is made while the time is ahead waits for another minute.
TEST_F(BucketAheadTest, C4HeirsOfADivisionHaveTheMarkOfTheirDonor) {
  const UnixMillis ahead = kShardStart + hours(1);
  Item donor = ShardItem(0, 1, 60'000);
  donor["rf"] = Of(ahead.value);
  donor[std::string(kAhead)] = Of(FormatAhead({ahead, kShardStart}));
  const auto writes =
      PlanShards(kShardKeys, {{"acme", "llm", 0}, {donor}, {}}, 2, kShardStart + seconds(30));
  ASSERT_TRUE(writes.has_value());
  ASSERT_EQ(writes->size(), 3U);
  const Item& heir = (*writes)[1].item;
  EXPECT_EQ(GetNumber(heir, "rf"), ahead.value);
  ASSERT_TRUE(heir.contains(std::string(kAhead)));
  EXPECT_EQ(*GetText(heir, kAhead), FormatAhead({ahead, kShardStart}));
  donor["rf"] = Of(kShardStart.value);
  const auto plain = PlanShards(kShardKeys, {{"acme", "llm", 0}, {donor}, {}}, 2, kShardStart);
  ASSERT_TRUE(plain.has_value());
  EXPECT_FALSE((*plain)[1].item.contains(std::string(kAhead)));
}

// A process that dies after its mark, or whose write is lost, leaves the rest to others.
TEST_F(BucketAheadTest, C4AWriteThatIsLostRefusesAllTheSame) {
  LeaveAnHourAhead(10);
  for (const auto fault : {DirectClient::Fault::kUnsent, DirectClient::Fault::kLostAnswer}) {
    Pass(milliseconds(1'001));
    ASSERT_TRUE(AskAt(Now(), here_, sixty_, 0).admitted) << "it is read again";
    table_.client.FailFrom(1, fault);
    const Decision refused = Ask(here_, 30);
    EXPECT_FALSE(refused.admitted);
    EXPECT_EQ(refused.retry_after, minutes(1) + seconds(20));
    table_.client.Heal();
  }
  ASSERT_NE(Mark(), std::nullopt) << "the second one arrived";
  Pass(minutes(1));
  EXPECT_EQ(Ask(there_, 30).retry_after, seconds(20));
  EXPECT_EQ(Rf(), Now());
}

}  // namespace
}  // namespace weir::dynamo
