#include "weir/aggregator/usage/usage_write.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "weir/aggregator/testing/change_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using testing::SizeIs;

constexpr std::array kHours = {UsageWindow::kHourly};
const TableKey kUsageItem{"ns/ENTITY#acme", "#USAGE#gpt-4#2026-01-01T05:00:00Z"};

// One usage item, to which batches of records are applied.
struct Counter {
  // Applies the records of one hour. Returns the number of updates that were sent.
  int Apply(const std::vector<ChangeRecord>& records, bool loses_response = false) {
    std::vector<BucketChange> changes;
    for (const ChangeRecord& record : records) changes.push_back(**ReadChange(record, 0));
    const auto groups = GroupUsage(changes, kHours);
    EXPECT_THAT(groups, SizeIs(records.empty() ? 0 : 1));
    int sent = 0;
    UsageTerms terms;
    for (bool is_done = groups.empty(); !is_done && sent < 10;) {
      auto plan = PlanUsage(groups[0], terms, 90);
      if (!plan || !*plan) break;
      ++sent;
      sim.table.Apply((*plan)->write, true, kNever, [&](const auto& outcome) {
        const bool is_applied = outcome.has_value() && !std::exchange(loses_response, false);
        is_done = is_applied && !(*plan)->is_part;
        if (!outcome) terms.seen = outcome.error().old_item;
      });
    }
    return sent;
  }
  Item Stored() { return sim.Get(kUsageItem).value_or(Item{}); }
  // Returns the tokens and the remainder of a limit, in millitokens.
  std::int64_t Counted(const std::string& limit) {
    const Item item = Stored();
    const std::string* remainder = GetText(item, kUsageRemainders);
    const std::string mark = limit + "=";
    const std::size_t at = remainder == nullptr ? std::string::npos : remainder->find(mark);
    const std::int64_t millitokens =
        at == std::string::npos ? 0 : std::stoll(remainder->substr(at + mark.size()));
    return GetNumber(item, limit).value_or(0) * 1000 + millitokens;
  }

  ZaeSimTable sim;
};

ChangeRecord Took(std::uint64_t sequence, std::int64_t millitokens, std::uint32_t shard = 0) {
  return Changed({"acme", "gpt-4", shard}, sequence, {{"rpm", 0}}, {{"rpm", millitokens}});
}

TEST(UsageWrite, ABatchIsOneUpdate) {
  Counter counter;
  EXPECT_EQ(counter.Apply({Took(8, 1'000), Took(9, 2'000), Took(4, 5'000, 1), Took(10, -1'000)}),
            1);
  const Item item = counter.Stored();
  EXPECT_EQ(GetNumber(item, "rpm"), 7);
  EXPECT_EQ(GetNumber(item, "total_events"), 4);
  EXPECT_EQ(*GetText(item, "window"), "hourly");
  EXPECT_EQ(*GetText(item, "GSI2SK"), "USAGE#2026-01-01T05:00:00Z#acme");
  EXPECT_EQ(GetText(item, "w_s0")->size(), 40U);
  EXPECT_TRUE(GetText(item, "w_s0")->ends_with("010"));
  EXPECT_TRUE(GetText(item, "w_s1")->ends_with("04"));
  EXPECT_EQ(GetText(item, kUsageRemainders), nullptr);
}

// Fails if: a change is counted again, or one that is new is not.
TEST(UsageWrite, AnOverlappingBatchCountsOnlyTheNewChanges) {
  Counter counter;
  counter.Apply({Took(9, 1'000), Took(10, 1'000)});
  EXPECT_EQ(counter.Apply({Took(9, 1'000), Took(10, 1'000), Took(11, 1'000)}), 2)
      << "one that fails its condition, and one that counts the rest";
  EXPECT_EQ(counter.Counted("rpm"), 3'000);
  EXPECT_EQ(counter.Apply({Took(9, 1'000), Took(10, 1'000)}), 1);
  EXPECT_EQ(counter.Counted("rpm"), 3'000);
}

TEST(UsageWrite, AnUpdateWhoseResponseIsLostCountsOnce) {
  Counter counter;
  EXPECT_EQ(counter.Apply({Took(1, 1'500)}, /*loses_response=*/true), 2);
  EXPECT_EQ(counter.Counted("rpm"), 1'500);
}

TEST(UsageWrite, PartsOfATokenAreKept) {
  Counter counter;
  counter.Apply({Took(1, 600)});
  EXPECT_EQ(GetNumber(counter.Stored(), "rpm"), std::nullopt);
  EXPECT_EQ(*GetText(counter.Stored(), kUsageRemainders), "rpm=600");
  counter.Apply({Took(2, 600)});
  EXPECT_EQ(GetNumber(counter.Stored(), "rpm"), 1);
  EXPECT_EQ(*GetText(counter.Stored(), kUsageRemainders), "rpm=200");
  counter.Apply({Took(3, -1'300)});
  EXPECT_EQ(GetNumber(counter.Stored(), "rpm"), -1);
  EXPECT_EQ(*GetText(counter.Stored(), kUsageRemainders), "rpm=900");
  counter.Apply({Took(4, 100)});
  EXPECT_EQ(GetText(counter.Stored(), kUsageRemainders), nullptr);
  EXPECT_EQ(counter.Counted("rpm"), 0);
}

// Fails if: shards of one bucket exclude each other without need.
TEST(UsageWrite, WholeTokensOfTwoShardsNeedNoSecondTry) {
  Counter counter;
  EXPECT_EQ(counter.Apply({Took(1, 1'000, 0)}), 1);
  EXPECT_EQ(counter.Apply({Took(1, 1'000, 1)}), 1);
  EXPECT_EQ(counter.Apply({Took(2, 1'000, 0)}), 1);
  EXPECT_EQ(counter.Counted("rpm"), 3'000);
}

// Fails if: one update has more limits than an expression of DynamoDB.
TEST(UsageWrite, ManyLimitsAreCountedInParts) {
  Counter counter;
  std::vector<ChangeRecord> records;
  for (std::uint64_t i = 1; i <= 500; ++i) {
    const std::string limit = fmt::format("job-{}", i);
    const auto shard = static_cast<std::uint32_t>(i % 3);
    records.push_back(Changed({"acme", "gpt-4", shard}, i, {{limit, 0}},
                              {{limit, 1'000 * static_cast<std::int64_t>(i)}}));
  }
  EXPECT_LE(counter.Apply(records), 10);
  for (std::int64_t i = 1; i <= 500; ++i) {
    EXPECT_EQ(counter.Counted(fmt::format("job-{}", i)), 1'000 * i) << i;
  }
  EXPECT_EQ(GetNumber(counter.Stored(), "total_events"), 500);
  EXPECT_EQ(counter.Apply(records), 1) << "nothing is counted again";
  EXPECT_EQ(GetNumber(counter.Stored(), "total_events"), 500);
}

TEST(UsageWrite, ADamagedItemIsReportedAndNotCounted) {
  for (const auto& [name, value] : {std::pair{"w_s0", Of("7")},
                                    {"w_s0", Of(7)},
                                    {"w_rem", Of("rpm=1000")},
                                    {"w_rem", Of("rpm")}}) {
    UsageTerms terms{.seen = Item{}};
    terms.seen->emplace(name, value);
    const ChangeRecord record = Took(1, 1);
    const std::vector changes{**ReadChange(record, 0)};
    const auto groups = GroupUsage(changes, kHours);
    EXPECT_EQ(PlanUsage(groups[0], terms, 90).error().code, Code::kDataLoss) << name;
  }
}

// Any deliveries of the records: each goes on from somewhere before the end of the last one.
// Fails if: a watermark moves backwards, the remainder is dropped or netted, or a batch with
// several shards counts one of them twice.
RC_GTEST_PROP(UsageWrite, AnyDeliveriesCountEachChangeOnce, ()) {
  std::vector<ChangeRecord> log;
  std::int64_t consumed = 0;
  for (std::uint64_t sequence = 1; sequence <= 30; ++sequence) {
    const auto amount = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-2'500, 5'000),
                                        rc::gen::element<std::int64_t>(1'000, 7'000));
    if (amount == 0) continue;
    log.push_back(Took(sequence, amount, *rc::gen::inRange<std::uint32_t>(0, 3)));
    consumed += amount;
  }
  Counter counter;
  for (std::size_t end = 0; end < log.size();) {
    const std::size_t begin = end - *rc::gen::inRange<std::size_t>(0, end + 1);
    end = std::max(end, begin + *rc::gen::inRange<std::size_t>(1, log.size() - begin + 1));
    const auto at = [&](std::size_t i) { return log.begin() + static_cast<std::ptrdiff_t>(i); };
    counter.Apply({at(begin), at(end)}, *rc::gen::arbitrary<bool>());
  }
  RC_ASSERT(counter.Counted("rpm") == consumed);
  RC_ASSERT(GetNumber(counter.Stored(), "total_events") == static_cast<std::int64_t>(log.size()));
}

}  // namespace
}  // namespace weir::dynamo
