// Limits that leave a bucket and join it again, and overrides, on items of a table: used tokens
// stay used. The contract suite tests this for every store; this file tests items and requests.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/bucket/bucket_plan.h"
#include "weir/zae_table/bucket/bucket_store.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;

constexpr UnixMillis kBegin{1'767'225'600'000};
const BucketKey kBucket{"acme", "llm", 0};
const Keys kExtraKeys("ns");

Limit PlainLimit(const std::string& name, std::int64_t capacity, std::int64_t per_second = 1) {
  return {name, PerSecond(per_second).Burst(capacity)};
}

class ExtraLimits : public testing::Test {
 protected:
  struct Process {
    explicit Process(ZaeSimTable& table)
        : store(table.table, kExtraKeys, table.scheduler, {.seed = 5}) {}
    DynamoBucketStore store;
  };

  Result<Decision> Ask(const TargetPtr& target, std::vector<std::int64_t> tokens,
                       std::int64_t later = 0) {
    for (std::int64_t& amount : tokens) amount *= kMillitokens;
    const std::vector<Charge> charges{{target, std::move(tokens)}};
    return table_.Ask<Decision>([&](Done<Decision> done) {
      process_.store.Acquire(charges, kBegin + milliseconds(later * 1000), Deadline::Never(),
                             std::move(done));
    });
  }
  bool Takes(const TargetPtr& target, std::vector<std::int64_t> tokens, std::int64_t later = 0) {
    const Result<Decision> decision = Ask(target, std::move(tokens), later);
    EXPECT_TRUE(decision.has_value()) << decision.error().message;
    return decision && decision->admitted;
  }
  Status Adjust(const TargetPtr& target, std::vector<std::int64_t> tokens) {
    for (std::int64_t& amount : tokens) amount *= kMillitokens;
    const std::vector<Charge> charges{{target, std::move(tokens)}};
    return table_.Ask<void>([&](Done<void> done) {
      process_.store.Adjust(charges, AdjustId{1, ++tokens_}, kBegin, Deadline::Never(),
                            std::move(done));
    });
  }

  static TargetPtr Configured(std::vector<Limit> limits) {
    return MakeTarget(kBucket, std::move(limits));
  }
  static TargetPtr Override(std::vector<Limit> limits) {
    return MakeTarget(kBucket, std::move(limits), LimitSource::kOverride);
  }
  Item Stored() { return table_.Get(kExtraKeys.Bucket(kBucket)).value_or(Item{}); }
  std::optional<std::int64_t> Tokens(const std::string& limit) {
    return GetNumber(Stored(), "b_" + limit + "_tk");
  }
  std::uint64_t Writes() const { return table_.table_writes(); }

  struct Counted : ZaeSimTable {
    std::uint64_t table_writes() const {
      return server.counts().Requests("UpdateItem") +
             server.counts().Requests("TransactWriteItems") + server.counts().Requests("PutItem");
    }
  };
  Counted table_;
  Process process_{table_};
  std::uint64_t tokens_ = 0;
};

TEST_F(ExtraLimits, C2LimitsThatTakeTurnsAreNotMinted) {
  const TargetPtr rpm = Configured({PlainLimit("rpm", 60)});
  const TargetPtr tpm = Configured({PlainLimit("tpm", 100)});
  EXPECT_TRUE(Takes(rpm, {60}));
  EXPECT_TRUE(Takes(tpm, {100}));
  EXPECT_FALSE(Takes(rpm, {1}));
  EXPECT_FALSE(Takes(tpm, {1}));
  EXPECT_TRUE(Takes(rpm, {5}, 5)) << "it is refilled while it is away";
  EXPECT_FALSE(Takes(rpm, {1}, 5));
}

TEST_F(ExtraLimits, C2DebtIsNotForgivenByALimitThatLeaves) {
  const TargetPtr both = Configured({PlainLimit("rpm", 60), PlainLimit("tpm", 100)});
  ASSERT_TRUE(Takes(both, {1, 100}));
  ASSERT_TRUE(Adjust(both, {0, 50}));
  ASSERT_TRUE(Takes(Configured({PlainLimit("rpm", 60)}), {1}));
  EXPECT_EQ(Tokens("tpm"), -50'000);
  EXPECT_FALSE(Takes(both, {0, 1}, 50));
  EXPECT_TRUE(Takes(both, {0, 1}, 51));
}

TEST_F(ExtraLimits, AnExtraThatIsFullLeavesWithTheNextRefill) {
  ASSERT_TRUE(Takes(Configured({PlainLimit("rpm", 60), PlainLimit("tpm", 10)}), {1, 10}));
  const TargetPtr rpm = Configured({PlainLimit("rpm", 60)});
  ASSERT_TRUE(Takes(rpm, {1}, 5));
  EXPECT_EQ(*GetText(Stored(), kExtras), "tpm");
  ASSERT_TRUE(Takes(rpm, {59}, 10));
  EXPECT_EQ(Tokens("tpm"), std::nullopt);
  EXPECT_THAT(Stored(), Not(Contains(Key(std::string(kExtras)))));
  EXPECT_THAT(Stored(), Not(Contains(Key(std::string(kGone)))));
}

TEST_F(ExtraLimits, Z3LooksAndRefusalsWriteNothing) {
  const TargetPtr rpm = Configured({PlainLimit("rpm", 60)});
  EXPECT_TRUE(Takes(rpm, {0}));
  EXPECT_THAT(Stored(), IsEmpty()) << "a look creates no item";
  ASSERT_TRUE(Takes(rpm, {60}));
  const Item before = Stored();
  const std::uint64_t writes = Writes();
  EXPECT_TRUE(Takes(rpm, {0}));
  EXPECT_TRUE(Takes(Configured({PlainLimit("tpm", 5)}), {0}, 3));
  EXPECT_TRUE(Takes(Override({PlainLimit("rpm", 1), PlainLimit("x", 1)}), {0, 0}));
  EXPECT_FALSE(Takes(Override({PlainLimit("rpm", 5), PlainLimit("x", 1)}), {1, 1}));
  EXPECT_TRUE(Adjust(rpm, {0}));
  EXPECT_EQ(Writes(), writes);
  EXPECT_EQ(Stored(), before);
}

TEST_F(ExtraLimits, AnOverrideIsJudgedOnACopyAndChargedToTheStoredLimit) {
  ASSERT_TRUE(Takes(Configured({PlainLimit("rpm", 60)}), {20}));
  const Result<Decision> small = Ask(Override({PlainLimit("rpm", 30, 7)}), {11});
  ASSERT_TRUE(small.has_value());
  EXPECT_FALSE(small->admitted) << "20 of 30 are used";
  EXPECT_EQ(small->limits.at(0).available, 10'000);
  EXPECT_EQ(small->retry_after, std::chrono::seconds(1)) << "at the stored rate";
  EXPECT_TRUE(Takes(Override({PlainLimit("rpm", 30, 7)}), {10}));
  EXPECT_EQ(Tokens("rpm"), 30'000);
  EXPECT_EQ(GetNumber(Stored(), "b_rpm_cp"), 60'000) << "its parameters stay";
  EXPECT_TRUE(Takes(Override({PlainLimit("rpm", 100)}), {70})) << "30 of 100 are used";
  EXPECT_EQ(Tokens("rpm"), -40'000);
  EXPECT_FALSE(Takes(Override({PlainLimit("rpm", 100)}), {1}));
}

TEST_F(ExtraLimits, ANameThatIsNotConfiguredHasTheParametersOfTheLastTake) {
  ASSERT_TRUE(Takes(Configured({PlainLimit("rpm", 60)}), {1}));
  EXPECT_TRUE(Takes(Override({PlainLimit("x", 5)}), {5}));
  EXPECT_FALSE(Takes(Override({PlainLimit("x", 5)}), {1}));
  EXPECT_TRUE(Takes(Override({PlainLimit("x", 8)}), {3})) << "5 of 8 are used";
  EXPECT_EQ(GetNumber(Stored(), "b_x_cp"), 8'000);
  EXPECT_EQ(*GetText(Stored(), kExtras), "x");
}

TEST_F(ExtraLimits, AnAdjustOfALimitThatIsNotThereMakesAnExtra) {
  ASSERT_TRUE(Takes(Configured({PlainLimit("rpm", 60)}), {1}));
  ASSERT_TRUE(Adjust(Override({PlainLimit("x", 5)}), {-3}));
  EXPECT_EQ(Tokens("x"), std::nullopt) << "it is full already";
  ASSERT_TRUE(Adjust(Override({PlainLimit("x", 5)}), {7}));
  EXPECT_EQ(Tokens("x"), -2'000);
  EXPECT_EQ(*GetText(Stored(), kExtras), "x");
}

// Each name leaves its own number of tokens used; the first one is the nearest to full.
TEST_F(ExtraLimits, OfMoreThanTwentyLimitsTheNearestToFullLeavesAndIsNotForgotten) {
  ASSERT_TRUE(Takes(Configured({PlainLimit("rpm", 60)}), {1}));
  for (std::size_t i = 1; i < kMaxMeters; ++i) {
    const auto used = static_cast<std::int64_t>(100 + i);
    ASSERT_TRUE(Takes(Override({PlainLimit("x" + std::to_string(i), 500)}), {used}));
  }
  ASSERT_TRUE(Takes(Override({PlainLimit("y", 500)}), {500}));
  EXPECT_EQ(Tokens("x1"), std::nullopt);
  EXPECT_EQ(Tokens("x2"), 398'000);
  const UnixMillis full = kBegin + std::chrono::seconds(101);
  EXPECT_EQ(*GetText(Stored(), kGone), fmt::format("{};{}", kBegin.value, full.value));
  EXPECT_GE(*GetNumber(Stored(), "ttl") * 1000, full.value);
  // x1 begins with the balance that it had, and so does any other name that was never here.
  EXPECT_FALSE(Takes(Override({PlainLimit("x1", 500)}), {400}));
  EXPECT_TRUE(Takes(Override({PlainLimit("x1", 500)}), {399}));
}

// Fails if: a limit is removed because of a balance that others have spent since.
TEST_F(ExtraLimits, ALimitThatOthersTakeFromMeanwhileIsNotRemoved) {
  ASSERT_TRUE(Takes(Configured({PlainLimit("rpm", 60)}), {1}));
  for (std::size_t i = 1; i < kMaxMeters; ++i) {
    const auto used = static_cast<std::int64_t>(100 + i);
    ASSERT_TRUE(Takes(Override({PlainLimit("x" + std::to_string(i), 500)}), {used}));
  }
  Item spent = Stored();
  spent.insert_or_assign("b_x1_tk", Of(std::int64_t{0}));
  table_.Put(spent);
  ASSERT_TRUE(Takes(Override({PlainLimit("y", 500)}), {1}));
  EXPECT_EQ(Tokens("x1"), 0);
  EXPECT_EQ(Tokens("x2"), std::nullopt) << "now it is the nearest to full";
}

// Fails if: the last limit that left determines alone how long all of those are remembered.
// Fails if: a damaged time in w_gone is a condition as it was read, not as it is stored: no write
// that refills would ever pass.
TEST_F(ExtraLimits, ADamagedTimeOfWhatLeftDoesNotBlockTheBucket) {
  const TargetPtr target = Configured({PlainLimit("rpm", 10)});
  ASSERT_TRUE(Takes(target, {10}));
  for (const auto* gone : {"-5;-3", "junk"}) {
    Item item = Stored();
    item.insert_or_assign("w_gone", Of(gone));
    table_.Put(std::move(item));
    Process other(table_);
    const std::vector<Charge> charges{{target, {5 * kMillitokens}}};
    const UnixMillis later{GetNumber(Stored(), "rf").value_or(0) + 20'000};
    const auto decision = table_.Ask<Decision>([&](Done<Decision> done) {
      other.store.Acquire(charges, later, Deadline::Never(), std::move(done));
    });
    EXPECT_TRUE(decision && decision->admitted) << gone;
  }
}

// Fails if: a limit that looks full by the parameters that were seen is removed, although another
// process has replaced them and taken tokens since. (Its time is behind, so that rf stays.)
TEST_F(ExtraLimits, ALimitWhoseParametersWereReplacedIsNotRemoved) {
  Process behind(table_);
  const auto ask = [&](Process& process, const TargetPtr& target, std::int64_t tokens,
                       std::int64_t at) {
    const std::vector<Charge> charges{{target, {tokens * kMillitokens}}};
    const auto decision = table_.Ask<Decision>([&](Done<Decision> done) {
      process.store.Acquire(charges, kBegin + milliseconds(at), Deadline::Never(), std::move(done));
    });
    return decision && decision->admitted;
  };
  ASSERT_TRUE(ask(process_, Configured({{"day", PerDay(1'000)}}), 1, 0));
  ASSERT_TRUE(ask(process_, Override({PlainLimit("x", 10)}), 5, 1'000));
  ASSERT_TRUE(ask(behind, Override({{"x", PerMinute(1'000)}}), 900, 500));
  ASSERT_TRUE(ask(process_, Override({PlainLimit("m", 5)}), 1, 7'000));
  EXPECT_TRUE(Tokens("x"));
  EXPECT_FALSE(ask(behind, Override({{"x", PerMinute(1'000)}}), 1'000, 7'000));
}

TEST_F(ExtraLimits, AFastLimitThatLeavesDoesNotEndTheMemoryOfASlowOne) {
  const Limit slow{"x0", {.capacity = 2'000, .amount = 1'000, .period = 86'400'000}};
  ASSERT_TRUE(Takes(Override({slow}), {1}));
  for (std::size_t i = 1; i < kMaxMeters; ++i) {
    ASSERT_TRUE(Adjust(Override({PlainLimit("x" + std::to_string(i), 5)}), {900}));
  }
  ASSERT_TRUE(Takes(Override({PlainLimit("y", 5)}), {4})) << "x0 leaves, a day before it is full";
  ASSERT_TRUE(Takes(Override({PlainLimit("z", 5)}), {1}, 1)) << "y leaves, 3 s before it is full";
  ASSERT_EQ(Tokens("y"), std::nullopt);
  EXPECT_FALSE(Takes(Override({slow}), {2}, 10));
}

// Fails if: a limit that joins is counted only from now on. A refusal stores nothing, so a fast
// limit would have no tokens until the slow one that left is full.
TEST_F(ExtraLimits, AFastLimitIsNotRefusedForASlowOneThatLeft) {
  const Limit slow{"x0", {.capacity = 2'000, .amount = 1'000, .period = 86'400'000}};
  ASSERT_TRUE(Takes(Override({slow}), {1}));
  for (std::size_t i = 1; i < kMaxMeters; ++i) {
    ASSERT_TRUE(Adjust(Override({PlainLimit("x" + std::to_string(i), 5)}), {900}));
  }
  ASSERT_TRUE(Takes(Override({PlainLimit("y", 5)}), {1})) << "x0 leaves, a day before it is full";
  ASSERT_EQ(Tokens("x0"), std::nullopt);
  const TargetPtr fast = Override({PlainLimit("fast", 10, 10)});
  EXPECT_FALSE(Takes(fast, {1}));
  EXPECT_TRUE(Takes(fast, {10}, 1));
}

TEST_F(ExtraLimits, WhereAllExtrasAreInDebtAnOverrideIsRefusedAndAConfiguredLimitFits) {
  ASSERT_TRUE(Takes(Configured({PlainLimit("rpm", 60)}), {1}));
  for (std::size_t i = 1; i < kMaxMeters; ++i) {
    ASSERT_TRUE(Adjust(Override({PlainLimit("x" + std::to_string(i), 5)}), {9}));
  }
  const Item before = Stored();
  const Result<Decision> refused = Ask(Override({PlainLimit("y", 5)}), {1});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(Stored(), before);
  EXPECT_TRUE(Takes(Configured({PlainLimit("rpm", 60), PlainLimit("tpm", 7)}), {1, 7}));
  EXPECT_EQ(Tokens("tpm"), 0);
}

// D6. Fails if: the error names debt although no limit is in debt.
TEST_F(ExtraLimits, D6AnOverrideThatFindsOnlyConfiguredLimitsIsToldSo) {
  std::vector<Limit> limits;
  for (std::size_t i = 0; i < kMaxMeters; ++i) {
    limits.push_back(PlainLimit("n" + std::to_string(i), 60));
  }
  ASSERT_TRUE(Takes(Configured(limits), std::vector<std::int64_t>(kMaxMeters, 1)));
  const Result<Decision> refused = Ask(Override({PlainLimit("y", 5)}), {1});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(
      refused.error().message,
      "acme/llm: no room for limits y: its bucket holds 20 limits at most, and 20 of them are "
      "configured or named in the request; name configured limits, or configure fewer");
}

// A parameter sync by a Python client leaves a limit that it adds without a balance.
TEST_F(ExtraLimits, D5ALimitWithParametersAndNoBalanceJoinsFull) {
  ASSERT_TRUE(Takes(Configured({PlainLimit("rpm", 60)}), {1}));
  Item synced = Stored();
  for (const auto* field : {"cp", "ra", "rp"}) {
    synced.insert_or_assign(std::string("b_tpm_") + field, Of(std::int64_t{7'000}));
  }
  table_.Put(synced);
  EXPECT_TRUE(Takes(Configured({PlainLimit("rpm", 60), PlainLimit("tpm", 10)}), {1, 4}, 1));
  EXPECT_EQ(Tokens("tpm"), 6'000);
  EXPECT_EQ(GetNumber(Stored(), "b_tpm_cp"), 10'000);
}

// Rows 109 to 128 of the coverage: such an item used to end the whole listing with an error.
TEST_F(ExtraLimits, Z109AListingReportsWhatItCannotReadAndGoesOn) {
  ASSERT_TRUE(Takes(Configured({PlainLimit("rpm", 60)}), {1}));
  Item scheduled = Stored();
  const Item other = kExtraKeys.BucketIndexes({"acme", "other", 0});
  for (const auto& [name, value] : other) scheduled.insert_or_assign(name, value);
  scheduled.insert_or_assign("sched", Of("1h9s500"));
  table_.Put(scheduled);
  const auto page = table_.Ask<Page<BucketRecord>>([&](auto done) {
    process_.store.List({.entity = "acme"}, {}, Deadline::Never(), std::move(done));
  });
  ASSERT_TRUE(page.has_value()) << page.error().message;
  ASSERT_EQ(page->items.size(), 1U);
  EXPECT_EQ(page->items[0].key, kBucket);
  ASSERT_EQ(page->unreadable.size(), 1U);
  EXPECT_THAT(page->unreadable[0], testing::HasSubstr("acme/other"));
}

TEST_F(ExtraLimits, AListingTellsExtrasApart) {
  ASSERT_TRUE(Takes(Configured({PlainLimit("rpm", 60)}), {1}));
  ASSERT_TRUE(Takes(Override({PlainLimit("x", 5)}), {5}));
  const std::vector<BucketKey> keys{kBucket};
  const auto records = table_.Ask<std::vector<std::optional<BucketRecord>>>(
      [&](auto done) { process_.store.Read(keys, Deadline::Never(), std::move(done)); });
  ASSERT_TRUE(records.has_value());
  const BucketRecord& record = (*records)[0].value();
  EXPECT_EQ(record.names, std::vector<std::string>{"rpm"});
  ASSERT_EQ(record.extras.meters.size(), 1U);
  EXPECT_EQ(record.extras.meters[0].name, "x");
  EXPECT_EQ(record.extras.meters[0].meter.tokens, 0);
}

}  // namespace
}  // namespace weir::dynamo
