#include "weir/store/usage/pending_usage.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weir {
namespace {

constexpr std::int64_t kHourMillis = 3'600'000;
constexpr UnixMillis kFirstHour{490'896 * kHourMillis};
constexpr std::uint32_t kShards = 3;

UsageFilter HoursOfAcme() {
  return {.entity = "acme",
          .resource = "gpt-4",
          .window = UsageWindow::kHourly,
          .from = {},
          .until = {}};
}

// Each shard has used these millitokens in each of two hours.
void AddShards(PendingUsage& pending, std::int64_t millitokens) {
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    std::vector<HourOfUse> used;
    for (const std::int64_t hour : {0, 1}) {
      used.push_back({.start = kFirstHour + milliseconds(hour * kHourMillis),
                      .events = 1,
                      .limits = {{.limit = "rpm", .used = millitokens}}});
    }
    pending.Add({"acme", "gpt-4", shard}, std::move(used));
  }
}

std::int64_t TokensOf(const UsageSnapshot& snapshot) {
  const auto found = snapshot.used.find("rpm");
  return found == snapshot.used.end() ? 0 : found->second;
}

Result<UsageRemainder> NoRemainder(const BucketKey&) { return UsageRemainder(); }

// Fails if: a page for one snapshot has the use of only some shards.
TEST(PendingUsage, APageOfOneSnapshotHasTheUseOfAllShards) {
  std::string cursor;
  for (int hour = 0; hour < 2; ++hour) {
    PendingUsage pending(HoursOfAcme(), {.cursor = cursor, .limit = 1});
    AddShards(pending, 5'000);
    Page<UsageSnapshot> page;
    ASSERT_TRUE(pending.MergeInto(page, NoRemainder));
    ASSERT_EQ(page.items.size(), 1U);
    EXPECT_EQ(TokensOf(page.items.front()), 5 * kShards) << hour;
    EXPECT_EQ(page.items.front().events, kShards);
    EXPECT_EQ(page.next.empty(), hour == 1);
    cursor = page.next;
  }
}

// Fails if: each shard adds the remainder, which belongs to all of them.
TEST(PendingUsage, TheRemainderCountsOnceForAllShards) {
  PendingUsage pending(HoursOfAcme(), {.cursor = {}, .limit = 9});
  AddShards(pending, 1'600);
  Page<UsageSnapshot> page;
  ASSERT_TRUE(pending.MergeInto(page, [](const BucketKey&) -> Result<UsageRemainder> {
    return UsageRemainder{{"rpm", 900}};
  }));
  std::int64_t sum = 0;
  for (const UsageSnapshot& snapshot : page.items) sum += TokensOf(snapshot);
  EXPECT_EQ(sum, (900 + 2 * kShards * 1'600) / 1'000);
}

}  // namespace
}  // namespace weir
