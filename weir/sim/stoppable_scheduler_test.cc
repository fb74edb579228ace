#include "weir/sim/stoppable_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weir/sim/sim_network.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::sim {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class Stoppable : public testing::Test {
 protected:
  void Stop(seconds duration) { process_.StopUntil(world_.clock().Now() + duration); }
  TimerId After(seconds wait, std::string name) {
    return process_.At(world_.clock().Now() + wait,
                       [this, name = std::move(name)] { ran_.push_back(name); });
  }

  SimScheduler world_;
  StoppableScheduler process_{world_};
  std::vector<std::string> ran_;
};

TEST_F(Stoppable, RunsItsTasksWhenTheyAreDue) {
  After(seconds(2), "later");
  After(seconds(1), "first");
  world_.Advance(seconds(1));
  EXPECT_THAT(ran_, ElementsAre("first"));
  world_.Advance(seconds(1));
  EXPECT_THAT(ran_, ElementsAre("first", "later"));
}

TEST_F(Stoppable, RunsWhatFellDueWhenItGoesOn) {
  After(seconds(1), "first");
  After(seconds(2), "later");
  Stop(seconds(5));
  world_.Advance(seconds(4));
  EXPECT_THAT(ran_, IsEmpty());
  world_.Advance(seconds(1));
  EXPECT_THAT(ran_, ElementsAre("first", "later"));
  EXPECT_EQ(world_.pending(), 0U);
}

TEST_F(Stoppable, AStopThatIsProlongedGoesOn) {
  After(seconds(1), "task");
  Stop(seconds(2));
  world_.Advance(seconds(1));
  Stop(seconds(3));
  world_.Advance(seconds(2));
  EXPECT_THAT(ran_, IsEmpty());
  world_.Advance(seconds(1));
  EXPECT_THAT(ran_, ElementsAre("task"));
}

TEST_F(Stoppable, CancelsATaskThatFellDueMeanwhile) {
  const TimerId id = After(seconds(1), "task");
  Stop(seconds(5));
  world_.Advance(seconds(2));
  EXPECT_TRUE(process_.Cancel(id));
  EXPECT_FALSE(process_.Cancel(id));
  world_.RunAll();
  EXPECT_THAT(ran_, IsEmpty());
}

class EmptyServer final : public SimServer {
 public:
  HttpResponse Handle(const HttpRequest&) override {
    ++requests;
    return {.status = 200};
  }
  int requests = 0;
};

TEST_F(Stoppable, WhatItSentArrivesAndIsAnsweredWhenItGoesOn) {
  EmptyServer server;
  SimTransport network(world_, server, 1);
  StoppableTransport transport(network, process_);
  int responses = 0;
  transport.Send({}, {}, [&](const auto&) { ++responses; });
  Stop(seconds(3));
  world_.Advance(seconds(2));
  EXPECT_EQ(server.requests, 1);
  EXPECT_EQ(responses, 0);
  world_.Advance(seconds(1));
  EXPECT_EQ(responses, 1);
  transport.Send({}, {}, [&](const auto&) { ++responses; });
  world_.RunAll();
  EXPECT_EQ(responses, 2);
}

}  // namespace
}  // namespace weir::sim
