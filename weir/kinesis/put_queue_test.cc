#include "weir/kinesis/put_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include <deque>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A stream with space for two records, and callers that wait for it.
class PutQueueTest : public testing::Test {
 protected:
  BufferQuota::Tenant TenantOfStream() const { return {.stream = stream_.number, .shard = {}}; }

  void Fill() {
    while (quota_.Take(TenantOfStream(), {1, 1})) {
    }
  }
  void GiveOneBack() { quota_.GiveBack(TenantOfStream(), {1, 1}); }
  PutQueue::Ticket Wait() {
    Incoming& incoming = incoming_.emplace_back();
    incoming.record.hash = incoming_.size();
    incoming.pending.tenant = TenantOfStream();
    incoming.pending.bytes = 1;
    return queue_.Wait(quota_, {stream_, incoming, {.done = [](const Status&) {}}});
  }
  /// Returns the hashes of the records, 1 for the first that waited.
  static std::vector<std::uint64_t> HashesOf(const std::vector<Putter>& putters) {
    std::vector<std::uint64_t> hashes;
    for (const Putter& putter : putters) {
      hashes.push_back(absl::Uint128Low64(putter.incoming.record.hash));
    }
    return hashes;
  }

  BufferQuota quota_{{.max_records = 2, .max_bytes = 100}};
  ProducerMetrics metrics_{MetricsOptions{}};
  Producer::Stream stream_{
      {.name = "s", .arn = {}}, quota_.AddStream(), Pipeline({}, 1), metrics_.Stream("s"), NoLog()};
  std::deque<Incoming> incoming_;
  PutQueue queue_;
};

TEST_F(PutQueueTest, ServesCallersInTheirOrder) {
  Fill();
  Wait();
  Wait();
  EXPECT_THAT(queue_.Serve(quota_), IsEmpty());
  GiveOneBack();
  EXPECT_THAT(HashesOf(queue_.Serve(quota_)), ElementsAre(1));
  EXPECT_THAT(queue_.Serve(quota_), IsEmpty());
}

// Fails if: a caller is served after its wait has ended, or twice.
TEST_F(PutQueueTest, ACanceledCallerIsNotServed) {
  Fill();
  const PutQueue::Ticket first = Wait();
  const PutQueue::Ticket second = Wait();
  const auto canceled = queue_.Cancel(quota_, first);
  ASSERT_TRUE(canceled);
  EXPECT_TRUE(canceled->waiter.done);
  EXPECT_THAT(canceled->served, IsEmpty());
  EXPECT_FALSE(queue_.Cancel(quota_, first));
  GiveOneBack();
  EXPECT_THAT(HashesOf(queue_.Serve(quota_)), ElementsAre(2));
  EXPECT_FALSE(queue_.Cancel(quota_, second)) << "it was served";
}

TEST_F(PutQueueTest, CallersThatFitAreServedWhenTheOneBeforeThemIsCanceled) {
  Fill();
  Incoming large;
  large.pending.tenant = TenantOfStream();
  large.pending.bytes = 100;
  const PutQueue::Ticket first = queue_.Wait(quota_, {stream_, large});
  GiveOneBack();
  EXPECT_THAT(queue_.Serve(quota_), SizeIs(0));
  Wait();
  const auto canceled = queue_.Cancel(quota_, first);
  ASSERT_TRUE(canceled);
  EXPECT_THAT(HashesOf(canceled->served), ElementsAre(1));
}

TEST_F(PutQueueTest, WaitersMoveToTheTenantsOfANewListing) {
  Fill();
  const PutQueue::Ticket ticket = Wait();
  queue_.MoveWaiting(quota_, stream_, [&](HashKey) {
    return BufferQuota::Tenant{.stream = stream_.number, .shard = ShardId{7}};
  });
  EXPECT_EQ(incoming_[0].pending.tenant.shard, ShardId{7});
  EXPECT_FALSE(queue_.WaiterOf(ticket).timer);
  GiveOneBack();
  EXPECT_THAT(queue_.Serve(quota_), SizeIs(1));
  EXPECT_EQ(quota_.used({.stream = stream_.number, .shard = ShardId{7}}).records, 1U);
}

TEST_F(PutQueueTest, AllCallersAreCanceledAtTheEnd) {
  Fill();
  Wait();
  Wait();
  EXPECT_THAT(HashesOf(queue_.CancelAll(quota_)), ElementsAre(1, 2));
  GiveOneBack();
  EXPECT_THAT(queue_.Serve(quota_), IsEmpty());
}
}  // namespace
}  // namespace weir::kinesis
