// The Prometheus metrics of events.
#include "weir/events/event_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/events/testing/event_rules_fixture.h"
#include "weir/events/testing/scripted_queue_fixture.h"
#include "weir/events/testing/slots_in_memory_fixture.h"
#include "weir/sim/sim_scheduler.h"

namespace weir {
namespace {

using testing::HasSubstr;

// Fails if: a metric is missing, or has the value of another.
TEST(EventMetrics, EachNumberHasItsName) {
  sim::SimScheduler scheduler;
  SlotsInMemory store;
  ScriptedQueue queue(scheduler);
  EventReleaser releaser(ClusterRule(), store.backend(), scheduler, {});
  SqsSource source(queue, scheduler,
                   [&](std::string_view body, auto sent, EventProgress progress) {
                     releaser.Take(body, sent, std::move(progress));
                   },
                   {.queue_url = queue.url});
  Registry registry;
  ASSERT_TRUE(RegisterMetrics(registry, releaser));
  ASSERT_TRUE(RegisterMetrics(registry, source));
  EXPECT_EQ(RegisterMetrics(registry, source).error().code, Code::kAlreadyExists);

  for (const char* slot : {"a", "b"}) store.BoundByOthers(slot, "j-1");
  store.faults.assign(1, {Code::kPermissionDenied, "no"});
  for (const auto& body :
       {ClusterEvent("j-0"), ClusterEvent("j-1"), ClusterEvent("j-2"), ClusterEvent("j-3"),
        std::string("hello"), std::string(R"({"source":"aws.ec2"})"),
        std::string(R"({"source":"aws.emr"})")}) {
    queue.Send(body);
  }
  queue.FailAt(3, /*lost=*/false);  // the first deletion, which follows a receive and a hiding
  ASSERT_TRUE(source.Start());
  scheduler.Advance(std::chrono::seconds(30));
  const std::string text = registry.Text();
  for (const char* line :
       {"weir_events_total{kind=\"bad\"} 1", "weir_events_total{kind=\"end\"} 5",
        "weir_events_total{kind=\"other\"} 1", "weir_events_total{kind=\"without_id\"} 1",
        "weir_events_ends_total{outcome=\"released\"} 1",
        "weir_events_ends_total{outcome=\"failed\"} 1", "weir_events_slots_released_total 2",
        "weir_events_pending 3", "weir_events_messages_total{fate=\"received\"} 7",
        "weir_events_messages_total{fate=\"deleted\"} 1",
        "weir_events_messages_total{fate=\"not_deleted\"} 2",
        "weir_events_messages_total{fate=\"bad\"} 1",
        "weir_events_messages_total{fate=\"failed\"} 1",
        "weir_events_queue_errors_total{call=\"delete\"} 1",
        "weir_events_queue_errors_total{call=\"receive\"} 0", "weir_events_messages_held 3"}) {
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
  }
}

}  // namespace
}  // namespace weir
