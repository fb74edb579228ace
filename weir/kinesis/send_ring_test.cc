#include "weir/kinesis/send_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "weir/kinesis/testing/record_fixture.h"

namespace weir::kinesis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A stream with requests of one record of this size each.
struct RingStream {
  RingStream(std::string name, ProducerMetrics& metrics, std::vector<std::size_t> sizes)
      : stream({.name = name, .arn = {}}, 0, Pipeline(OnDemand(), 1), metrics.Stream(name),
               NoLog()) {
    static_cast<void>(stream.pipeline.OnWake(kStart));
    static_cast<void>(stream.pipeline.OnListed(ShardPage{{{{0}, {0, kMaxHashKey}}}, ""}, kStart));
    for (const std::size_t size : sizes) {
      static_cast<void>(stream.pipeline.Put(
          {.data = std::string(size, 'x'), .deadline = kStart, .expires = kStart + kLife}, kStart));
    }
  }

  static constexpr nanoseconds kLife = std::chrono::seconds(60);
  static PipelineOptions OnDemand() {
    return {.aggregator = {.mode = AggregatorOptions::Mode::kSeparately},
            .collector = {.max_count = 1},
            .sends_on_demand = true};
  }

  Producer::Stream stream;
};

/// Takes all requests that may be sent. Returns the names of their streams.
std::vector<std::string> SendersOf(SendRing& ring) {
  std::vector<std::string> names;
  while (const auto next = ring.TakeNext(kStart)) names.push_back(next->stream.address.name);
  return names;
}

class SendRingTest : public testing::Test {
 protected:
  ProducerMetrics metrics_{MetricsOptions{}};
};

TEST_F(SendRingTest, StreamsTakeTurns) {
  RingStream a("a", metrics_, {1, 1, 1});
  RingStream b("b", metrics_, {1, 1});
  RingStream idle("idle", metrics_, {});
  SendRing ring({.max_requests = 4, .max_bytes = 100});
  for (RingStream* each : {&a, &b, &idle, &a}) ring.Enter(each->stream, kStart);
  EXPECT_THAT(SendersOf(ring), ElementsAre("a", "b", "a", "b"));
  ring.OnEnded(1);
  EXPECT_THAT(SendersOf(ring), ElementsAre("a"));
  ring.OnEnded(1);
  EXPECT_THAT(SendersOf(ring), IsEmpty());
}

// Fails if: small requests pass a large one without end.
TEST_F(SendRingTest, NoStreamPassesOneThatWaitsForBytes) {
  RingStream a("a", metrics_, {60});
  RingStream b("b", metrics_, {60});
  RingStream c("c", metrics_, {1});
  SendRing ring({.max_requests = 4, .max_bytes = 100});
  for (RingStream* each : {&a, &b, &c}) ring.Enter(each->stream, kStart);
  EXPECT_THAT(SendersOf(ring), ElementsAre("a"));
  ring.OnEnded(60);
  EXPECT_THAT(SendersOf(ring), ElementsAre("b", "c"));
}

TEST_F(SendRingTest, ARequestLargerThanTheBytesIsSentAlone) {
  RingStream a("a", metrics_, {200});
  RingStream b("b", metrics_, {1});
  SendRing ring({.max_requests = 4, .max_bytes = 100});
  ring.Enter(a.stream, kStart);
  ring.Enter(b.stream, kStart);
  EXPECT_THAT(SendersOf(ring), ElementsAre("a"));
  ring.OnEnded(200);
  EXPECT_THAT(SendersOf(ring), ElementsAre("b"));
}
}  // namespace
}  // namespace weir::kinesis
