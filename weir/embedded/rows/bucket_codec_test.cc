#include "weir/embedded/rows/bucket_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "weir/embedded/rows/bucket_reader.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Line {
  BucketKey key;
  std::optional<std::int64_t> time;
  std::string limits;
  std::string extras = "";

  friend bool operator==(const Line&, const Line&) = default;
};

std::vector<Line> ReadAll(const ChangeBatch& batch) {
  std::vector<Line> lines;
  BucketReader reader;
  for (const std::string_view row : batch.Rows()) {
    const Status read = reader.ReadChanges(row, [&](const Change& change) {
      lines.push_back({{std::string(change.entity), std::string(change.resource), change.shard},
                       change.time,
                       std::string(change.limits),
                       std::string(change.extras)});
    });
    EXPECT_TRUE(read) << read.error().message;
  }
  return lines;
}

rc::Gen<Meter> AnyMeter() {
  return rc::gen::exec([] {
    Meter meter;
    meter.quota = {.capacity = *rc::gen::inRange<std::int64_t>(1, kMaxMillitokens + 1),
                   .amount = *rc::gen::inRange<std::int64_t>(1, kMaxMillitokens + 1),
                   .period = *rc::gen::inRange<std::int64_t>(1, kMaxPeriodMillis + 1)};
    meter.tokens = *rc::gen::inRange<std::int64_t>(-kMaxDebt, meter.quota.capacity + 1);
    // After a change of the period, the remainder still counts in the old one.
    meter.remainder_period = *rc::gen::oneOf(
        rc::gen::just(meter.quota.period), rc::gen::inRange<std::int64_t>(1, kMaxPeriodMillis + 1));
    meter.remainder = *rc::gen::inRange<std::int64_t>(0, meter.remainder_period);
    meter.consumed = *rc::gen::arbitrary<std::int64_t>();
    return meter;
  });
}

rc::Gen<BucketRecord> AnyRecord() {
  return rc::gen::exec([] {
    BucketRecord record;
    record.key = {*rc::gen::nonEmpty<std::string>(), *rc::gen::nonEmpty<std::string>(),
                  *rc::gen::arbitrary<std::uint32_t>()};
    // No store accepts control characters or '#'.
    for (char& c : record.key.entity) c = static_cast<char>('$' + (c & 0x3f));
    for (char& c : record.key.resource) c = static_cast<char>('$' + (c & 0x3f));
    const auto any_time = rc::gen::inRange(kEarliestBucketTime.value, kLatestBucketTime.value + 1);
    record.bucket.time = {*any_time};
    const int extras = *rc::gen::inRange(0, 4);
    for (int i = 0; i < extras; ++i) {
      record.extras.meters.push_back({"extra\"" + std::to_string(i), *AnyMeter(), {*any_time}});
      record.extras.last_left = {*any_time};
      record.extras.left_full =
          UnixMillis{*any_time} +
          milliseconds(*rc::gen::inRange<std::int64_t>(0, kLongestWait.count() + 1));
    }
    const int count = *rc::gen::inRange(extras > 0 ? 0 : 1, 5);
    for (int i = 0; i < count; ++i) {
      record.names.push_back("limit\"" + std::to_string(i));
      record.bucket.meters.push_back(*AnyMeter());
    }
    return record;
  });
}

// Fails if: the period of a remainder is not written although it differs from the limit's, a quote
// in a name is not escaped, or a number is truncated.
RC_GTEST_PROP(BucketCodec, ReadsBackWhatItWrote, ()) {
  const std::vector<BucketRecord> records =
      *rc::gen::container<std::vector<BucketRecord>>(AnyRecord());
  ChangeBatch batch;
  for (const BucketRecord& record : records) {
    const BucketState state = StateOf(record);
    batch.Add(record.key, &state);
  }
  const std::vector<Line> lines = ReadAll(batch);
  RC_ASSERT(lines.size() == records.size());
  BucketReader reader;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    BucketRecord read{.key = lines[i].key, .names = {}, .bucket = {.time = {*lines[i].time}}};
    RC_ASSERT(reader.ReadLimits(lines[i].limits, read).has_value());
    const std::string& extras = lines[i].extras;
    RC_ASSERT(extras.empty() == (records[i].extras == ExtraMeters()));
    if (!extras.empty()) RC_ASSERT(reader.ReadExtras(extras, read).has_value());
    RC_ASSERT(read == records[i]);
    std::string limits;
    AppendLimits(limits, records[i]);
    RC_ASSERT(limits == lines[i].limits);
  }
}

TEST(BucketCodec, IsReadableByAPerson) {
  const TargetPtr target = MakeTarget({"acme", "gpt-4", 0}, {{"rpm", PerMinute(100)}});
  BucketState state = NewBucketState(target, {1'767'225'600'013});
  Debit(state.bucket.meters[0], 1500);
  ChangeBatch batch;
  batch.Add(target->key, &state);
  batch.AddRemoved({"globex", "gpt-5", 3});
  EXPECT_THAT(batch.Rows(), ElementsAre("[[\"acme\",\"gpt-4\",0,1767225600013,"
                                        "{\"rpm\":[98500,0,1500,100000,100000,60000]}],\n"
                                        "[\"globex\",\"gpt-5\",3]]\n"));
  EXPECT_EQ(batch.count(), 2U);
  EXPECT_EQ(batch.bytes(), batch.Rows()[0].size());
}

TEST(BucketCodec, ExtraLimitsFollowTheConfiguredOnes) {
  const TargetPtr target = MakeTarget({"acme", "gpt-4", 0}, {{"rpm", PerMinute(100)}});
  BucketState state = NewBucketState(target, {1'767'225'600'013});
  state.extras = std::make_unique<ExtraMeters>();
  state.extras->meters.push_back({"tpm", FullMeter(PerMinute(9)), {1'767'225'600'000}});
  Debit(state.extras->meters[0].meter, 2000);
  state.extras->last_left = {5};
  state.extras->left_full = {7};
  ChangeBatch batch;
  batch.Add(target->key, &state);
  EXPECT_THAT(batch.Rows(),
              ElementsAre("[[\"acme\",\"gpt-4\",0,1767225600013,"
                          "{\"rpm\":[100000,0,0,100000,100000,60000]},"
                          "{\"limits\":{\"tpm\":[7000,0,2000,9000,9000,60000,60000,1767225600000]},"
                          "\"left\":[5,7]}]]\n"));
}

TEST(BucketCodec, RefusesExtraLimitsThatNoBucketHas) {
  BucketReader reader;
  const auto code = [&](std::string_view extras) {
    BucketRecord record;
    const Status read = reader.ReadExtras(extras, record);
    return read ? std::optional<Code>() : read.error().code;
  };
  EXPECT_EQ(code(R"({"limits":{"a":[5,0,0,10,10,1000,1000,9]},"left":[0,0]})"), std::nullopt);
  EXPECT_EQ(code(R"({"limits":{},"left":[1,2]})"), std::nullopt);
  EXPECT_EQ(code(R"([])"), Code::kDataLoss);
  EXPECT_EQ(code(R"({"left":[0,0]})"), Code::kDataLoss);
  EXPECT_EQ(code(R"({"limits":{}})"), Code::kDataLoss);
  EXPECT_EQ(code(R"({"limits":{},"left":[0]})"), Code::kDataLoss);
  EXPECT_EQ(code(R"({"limits":{},"left":[0,0,0]})"), Code::kDataLoss);
  EXPECT_EQ(code(R"({"limits":{"a":[5,0,0,10,10,1000,1000]},"left":[0,0]})"), Code::kDataLoss);
  EXPECT_EQ(code(R"({"limits":{"a":[11,0,0,10,10,1000,1000,9]},"left":[0,0]})"), Code::kDataLoss);
  EXPECT_EQ(code(R"({"limits":{"a":[5,-1,0,10,10,1000,1000,9]},"left":[0,0]})"), Code::kDataLoss);
}

// Fails if: the debt that remains after a limit was lowered counts as damage.
TEST(BucketCodec, ReadsTheLowestBalance) {
  BucketRecord record{.key = {"acme", "gpt-4", 0}, .names = {"rpm"}, .bucket = {}};
  Meter meter = FullMeter({kMaxMillitokens, 1, 1});
  Adjust(meter, kMaxMillitokens + kMaxDebt);
  ChangeQuota(meter, PerSecond(1));
  record.bucket.meters.push_back(meter);
  ChangeBatch batch;
  const BucketState state = StateOf(record);
  batch.Add(record.key, &state);
  const std::vector<Line> lines = ReadAll(batch);
  ASSERT_EQ(lines.size(), 1U);
  BucketRecord read{.key = record.key, .names = {}, .bucket = {}};
  EXPECT_TRUE(BucketReader().ReadLimits(lines[0].limits, read));
  EXPECT_EQ(read.bucket.meters.front(), meter);
}

TEST(BucketCodec, TellsRemovalsApart) {
  ChangeBatch batch;
  batch.AddRemoved({"acme", "gpt-4", 7});
  EXPECT_THAT(ReadAll(batch), ElementsAre(Line{{"acme", "gpt-4", 7}, std::nullopt, ""}));
}

TEST(BucketCodec, ABatchBeginsAnewOnceItIsCleared) {
  ChangeBatch batch;
  batch.AddRemoved({"acme", "gpt-4", 0});
  batch.Clear();
  EXPECT_TRUE(batch.empty());
  EXPECT_TRUE(batch.Rows().empty());
  batch.AddRemoved({"globex", "gpt-4", 0});
  EXPECT_THAT(ReadAll(batch), ElementsAre(Line{{"globex", "gpt-4", 0}, std::nullopt, ""}));
}

TEST(BucketCodec, SpreadsALargeBatchOverRows) {
  constexpr std::uint32_t kBuckets = 300'000;
  ChangeBatch batch;
  for (std::uint32_t i = 0; i < kBuckets; ++i) batch.AddRemoved({"customer-of-ours", "gpt-4", i});
  EXPECT_GT(batch.Rows().size(), 1U);
  const auto longest = std::ranges::max(batch.Rows(), {}, &std::string_view::size);
  EXPECT_LT(longest.size(), 5'000'000U);
  const std::vector<Line> lines = ReadAll(batch);
  ASSERT_EQ(lines.size(), kBuckets);
  for (std::uint32_t i = 0; i < kBuckets; ++i) ASSERT_EQ(lines[i].key.shard, i);
}

TEST(BucketCodec, SaysWhereARowIsDamaged) {
  BucketReader reader;
  const auto message = [&](std::string_view row) {
    const Status read = reader.ReadChanges(row, [](const Change&) {});
    if (read) return std::string("it was read");
    EXPECT_EQ(read.error().code, Code::kDataLoss);
    return read.error().message;
  };
  EXPECT_THAT(message(""), HasSubstr("not a JSON array"));
  EXPECT_THAT(message("{}"), HasSubstr("not a JSON array"));
  EXPECT_THAT(message(R"([["a","b",0],["a","b"]])"), HasSubstr("change 1 of a row"));
  EXPECT_THAT(message(R"([["a","b",0,1]])"), HasSubstr("change 0 of a row"));
  EXPECT_THAT(message(R"([["a","b",0,1,{},2]])"), HasSubstr("change 0 of a row"));
  EXPECT_THAT(message(R"([["a","b",4294967296]])"), HasSubstr("change 0 of a row"));
  EXPECT_THAT(message(R"([["a","b",-1]])"), HasSubstr("change 0 of a row"));
  EXPECT_THAT(message(R"([[1,"b",0]])"), HasSubstr("change 0 of a row"));
  EXPECT_THAT(message(R"([["a","b",0,"x",{}]])"), HasSubstr("change 0 of a row"));
  EXPECT_THAT(message(R"([["a","b",0]] [])"), HasSubstr("goes on after its end"));
  EXPECT_THAT(message(R"([["a","b",0)"), HasSubstr("damaged"));
}

TEST(BucketCodec, RefusesNumbersThatNoBucketHas) {
  BucketReader reader;
  const auto code = [&](std::string_view limits) {
    BucketRecord record;
    const Status read = reader.ReadLimits(limits, record);
    return read ? std::optional<Code>() : read.error().code;
  };
  EXPECT_EQ(code(R"({"rpm":[5,0,0,10,10,1000]})"), std::nullopt);
  EXPECT_EQ(code(R"({})"), std::nullopt) << "all of its limits may be extra ones";
  EXPECT_EQ(code(R"([])"), Code::kDataLoss);
  EXPECT_EQ(code(R"({"rpm":[5,0,0,10,10]})"), Code::kDataLoss) << "a number is missing";
  EXPECT_EQ(code(R"({"rpm":[5,0,0,10,10,1000,1000,1]})"), Code::kDataLoss) << "one too many";
  EXPECT_EQ(code(R"({"rpm":[11,0,0,10,10,1000]})"), Code::kDataLoss) << "over the capacity";
  EXPECT_EQ(code(R"({"rpm":[5,1000,0,10,10,1000]})"), Code::kDataLoss) << "remainder of a period";
  EXPECT_EQ(code(R"({"rpm":[5,-1,0,10,10,1000]})"), Code::kDataLoss) << "negative remainder";
  EXPECT_EQ(code(R"({"rpm":[5,0,0,10,10,0]})"), Code::kDataLoss) << "no period";
  EXPECT_EQ(code(R"({"rpm":[5,0,0,0,10,1000]})"), Code::kDataLoss) << "no capacity";
  EXPECT_EQ(code(R"({"rpm":[5.5,0,0,10,10,1000]})"), Code::kDataLoss) << "no whole number";
}

}  // namespace
}  // namespace weir
