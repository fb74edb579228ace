#include "weir/zae_table/records/usage_gap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

UsageGap Gap(int from_hour, int until_hour) {
  constexpr milliseconds kHourOfGap{3'600'000};
  return {"shard-1", "17", kNewYear + from_hour * kHourOfGap, kNewYear + until_hour * kHourOfGap};
}

// Fails if: a gap that overlaps the time is left out, or one that does not is listed.
TEST(UsageGap, GapsAreFoundByTheTimeThatTheyOverlap) {
  ZaeSimTable sim;
  for (const UsageGap& gap : {Gap(1, 3), Gap(5, 6), Gap(5, 6)}) sim.Put(GapWrite(gap).item);
  const auto list = [&](int from_hour, int until_hour) {
    const UsageGap asked = Gap(from_hour, until_hour);
    return sim
        .Ask<UsageGaps>([&](auto done) {
          ListGaps(sim.table, asked.from, asked.until, 100, kNever, std::move(done));
        })
        ->gaps;
  };
  EXPECT_THAT(list(0, 9), ElementsAre(Gap(1, 3), Gap(5, 6)));
  EXPECT_THAT(list(2, 2), ElementsAre(Gap(1, 3)));
  EXPECT_THAT(list(4, 4), IsEmpty());
  EXPECT_THAT(list(6, 9), ElementsAre(Gap(5, 6)));
}

// Fails if: usage cannot be listed because there are many gaps.
TEST(UsageGap, OfManyGapsTheFirstAreListed) {
  ZaeSimTable sim;
  for (int hour = 0; hour < 5; ++hour) sim.Put(GapWrite(Gap(hour, hour + 1)).item);
  const auto list = [&](std::size_t most) {
    return *sim.Ask<UsageGaps>([&](auto done) {
      ListGaps(sim.table, kNewYear, Gap(0, 9).until, most, kNever, std::move(done));
    });
  };
  EXPECT_THAT(list(2).gaps, ElementsAre(Gap(0, 1), Gap(1, 2)));
  EXPECT_TRUE(list(2).has_more);
  EXPECT_EQ(list(5).gaps.size(), 5U);
  EXPECT_FALSE(list(5).has_more);
}

TEST(UsageGap, AnotherItemIsNoGap) {
  EXPECT_EQ(ReadGap(ToItem(VersionRecord())), std::nullopt);
  Item damaged = GapWrite(Gap(1, 2)).item;
  damaged["gap_from"] = Of("yesterday");
  EXPECT_EQ(ReadGap(damaged), std::nullopt);
}

}  // namespace
}  // namespace weir::dynamo
