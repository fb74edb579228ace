#include "weir/kinesis/shards/shard_sightings.h"

#include <gtest/gtest.h>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;

TEST(ShardSightings, CountsWhatAnsweredInTheLastMinute) {
  ShardSightings sightings;
  EXPECT_EQ(sightings.Count(kStart), 1) << "a stream has at least one";
  sightings.See({0}, kStart);
  sightings.See({1}, kStart);
  sightings.See({1}, kStart + seconds(30));
  EXPECT_EQ(sightings.Count(kStart + seconds(59)), 2);
  EXPECT_EQ(sightings.Count(kStart + seconds(60)), 1);
  EXPECT_EQ(sightings.Count(kStart + seconds(200)), 1);
}

TEST(ShardSightings, IsBounded) {
  ShardSightings sightings;
  for (std::uint64_t shard = 0; shard < 2 * ShardSightings::kMost; ++shard) {
    sightings.See({shard}, kStart);
  }
  EXPECT_EQ(sightings.Count(kStart), ShardSightings::kMost);
}

}  // namespace
}  // namespace weir::kinesis
