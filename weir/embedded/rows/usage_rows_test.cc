#include "weir/embedded/rows/usage_rows.h"

#include <gtest/gtest.h>

#include "weir/embedded/file/schema.h"

namespace weir {
namespace {

constexpr UnixMillis kRowsFrom{1'767'225'600'000};
constexpr milliseconds kRowHour = std::chrono::hours(1);

class UsageRowsTest : public testing::Test {
 protected:
  explicit UsageRowsTest(std::size_t most = 1'000'000)
      : connection_(*sqlite::Connection::OpenInMemory()) {
    EXPECT_TRUE(PrepareSchema(connection_));
    rows_.emplace(*UsageRows::Open(connection_, {.max_snapshots = most}));
  }

  void Add(const std::string& entity, UnixMillis hour, std::int64_t millitokens,
           bool commit = true) {
    const HourOfUse use{.start = hour, .events = 1, .limits = {{"rpm", millitokens, 0}}};
    const BucketKey key{entity, "gpt-4", 0};
    const Status added = connection_.InTransaction([&]() -> Status {
      EXPECT_TRUE(rows_->AddHours(key, {&use, 1}));
      EXPECT_TRUE(rows_->Trim(hour));
      return commit ? Status() : Fail(Code::kUnavailable, "the disk is away");
    });
    rows_->End(added.has_value());
  }
  std::int64_t Count(const std::string& where = "1") {
    return *connection_.QueryInteger("SELECT count(*) FROM usage WHERE " + where);
  }

  sqlite::Connection connection_;
  std::optional<UsageRows> rows_;
};

// Fails if: hours, days or months are kept longer or shorter than documented, for lack of new use
// of their own entity.
TEST_F(UsageRowsTest, RowsExpire) {
  Add("acme", kRowsFrom, 1000);
  Add("globex", kRowsFrom + std::chrono::days(7), 1000);
  EXPECT_EQ(Count("entity = 'acme'"), 3);
  Add("globex", kRowsFrom + std::chrono::days(7) + 2 * kRowHour, 1000);
  EXPECT_EQ(Count("entity = 'acme' AND span = 'hourly'"), 0);
  EXPECT_EQ(Count("entity = 'acme'"), 2);
  EXPECT_EQ(rows_->stats().expired, 1U);
  Add("globex", kRowsFrom + std::chrono::days(92), 1000);
  EXPECT_EQ(Count("entity = 'acme' AND span = 'daily'"), 0);
  EXPECT_EQ(Count("entity = 'acme'"), 1);
  Add("globex", kRowsFrom + std::chrono::days(400), 1000);
  EXPECT_EQ(Count("entity = 'acme'"), 1);
  Add("globex", kRowsFrom + std::chrono::days(440), 1000);
  EXPECT_EQ(Count("entity = 'acme'"), 0);
}

// Fails if: one transaction removes all rows that have expired.
TEST_F(UsageRowsTest, ATransactionRemovesFewRows) {
  for (int i = 0; i < 100; ++i) Add(std::to_string(i), kRowsFrom, 1000);
  const std::int64_t before = Count();
  Add("new", kRowsFrom + std::chrono::days(8), 1000);
  EXPECT_GE(Count(), before + 3 - 6 - UsageRows::kExtraTrimmedRows);
  for (int i = 0; i < 10; ++i) Add("new", kRowsFrom + std::chrono::days(8), 1000);
  EXPECT_EQ(Count("span = 'hourly'"), 1);
}

// Fails if: the parts of tokens of several windows are lost with the first.
TEST_F(UsageRowsTest, RestsMoveToTheLatestMonth) {
  for (int month = 0; month < 5; ++month) {
    Add("acme", kRowsFrom + std::chrono::days(31 * month), 700);
    EXPECT_LE(Count("rest IS NOT NULL"), 1);
  }
  EXPECT_EQ(*connection_.QueryInteger("SELECT sum(json_extract(used, '$.rpm')) FROM usage WHERE "
                                      "span = 'monthly'"),
            3);
  EXPECT_EQ(*connection_.QueryText("SELECT rest FROM usage WHERE rest IS NOT NULL"),
            R"({"rpm":500})");
}

// Fails if: a transaction that failed is counted in the numbers of rows.
TEST_F(UsageRowsTest, AFailedTransactionChangesNoNumbers) {
  Add("acme", kRowsFrom, 1000);
  EXPECT_EQ(rows_->stats().kept, 3U);
  Add("globex", kRowsFrom, 1000, /*commit=*/false);
  EXPECT_EQ(rows_->stats().kept, 3U);
  Add("initech", kRowsFrom, 1000);
  EXPECT_EQ(rows_->stats().kept, 6U);
  EXPECT_EQ(Count(), 6);
}

class FewUsageRowsTest : public UsageRowsTest {
 protected:
  FewUsageRowsTest() : UsageRowsTest(10) {}
};

// Fails if: there are more rows than the limit, or others leave than those that ended first.
TEST_F(FewUsageRowsTest, TheOldestRowsLeave) {
  for (int hour = 0; hour < 30; ++hour) Add("acme", kRowsFrom + hour * kRowHour, 1000);
  EXPECT_EQ(Count(), 10);
  EXPECT_EQ(rows_->stats().kept, 10U);
  EXPECT_EQ(rows_->stats().evicted, 23U);
  EXPECT_EQ(Count("span = 'monthly'"), 1);
  EXPECT_EQ(Count("span = 'hourly'"), 7);
}

}  // namespace
}  // namespace weir
