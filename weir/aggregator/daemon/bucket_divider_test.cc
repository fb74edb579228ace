#include "weir/aggregator/daemon/bucket_divider.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "weir/aggregator/testing/change_fixture.h"
#include "weir/dynamodb/testing/sim_table.h"
#include "weir/telemetry/testing/recording_log_fixture.h"
#include "weir/zae_table/bucket/bucket_image.h"
#include "weir/zae_table/zae_layout.h"

namespace weir::dynamo {
namespace {

/// Keeps the calls, and fails them later.
class HeldCalls final : public JsonClient {
 public:
  void Call(JsonCall, Deadline, JsonDone done) override { held_.push_back(std::move(done)); }
  std::size_t size() const { return held_.size(); }
  void FailAll() {
    for (JsonDone& done : std::exchange(held_, {})) {
      done(tl::unexpected(AwsFailure{.kind = FailureClass::kPermanent}));
    }
  }

 private:
  std::vector<JsonDone> held_;
};

struct DividerOnSlowTable {
  sim::SimScheduler scheduler;
  HeldCalls client;
  Table table{client, scheduler, "limits", 1, ZaeLayout()};
  RecordingLog log;
  BucketDivider divider{{table, scheduler, log}, 1};

  void Ask(int bucket, bool was_begun) {
    const BucketKey key{fmt::format("entity-{}", bucket), "api", 0};
    divider.Divide({.namespace_id = fmt::format("ns{}", bucket % 3),
                    .image = ReadImage(BucketItem(key, {{"rpm", 0}, {"wcu", 0}})).value(),
                    .was_begun = was_begun});
  }
};

// Fails if: a batch with many busy buckets begins a division of each, on a table that is slow.
TEST(BucketDivider, DivisionsInFlightAreBoundedAndTheOthersAreDropped) {
  DividerOnSlowTable fixture;
  for (int i = 0; i < 100; ++i) fixture.Ask(i, i % 2 == 0);
  EXPECT_EQ(fixture.divider.dropped(), 100 - BucketDivider::kMaxInFlight);
  EXPECT_LE(fixture.client.size(), 3 * BucketDivider::kMaxInFlight) << "shards, and the owner";
  fixture.client.FailAll();
  for (int i = 100; i < 110; ++i) fixture.Ask(i, i % 2 == 0);
  EXPECT_EQ(fixture.divider.dropped(), 100 - BucketDivider::kMaxInFlight)
      << "divisions that have failed are no longer in flight";
  fixture.client.FailAll();
}

}  // namespace
}  // namespace weir::dynamo
