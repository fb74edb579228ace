// The end of a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>

#include "weir/transport/testing/server_fixture.h"

namespace weir::transport {
namespace {

class ServerDrainTest : public ServerTestBase {
 protected:
  using Outcome = Result<DrainResult>;

  std::future<Outcome> Drain(nanoseconds time) {
    auto promise = std::make_shared<std::promise<Outcome>>();
    auto future = promise->get_future();
    server_->Drain(Deadline::At(clock_.Now() + time),
                   [promise](Outcome outcome) { promise->set_value(std::move(outcome)); });
    return future;
  }
  static void ExpectServed(const TestClient& client, std::string_view text = "x") {
    client.Send(text);
    EXPECT_EQ(client.Read(text.size()), text);
  }
};

/// Echoes; a connection that got "stay" does not end when it is drained.
void EchoAndStay(ScriptedConnection& self, std::string_view bytes) {
  if (bytes == "stay") self.ends_when_drained = false;
  if (bytes == "end") self.is_done = true;
  self.is_cut |= bytes == "cut";
  self.output += bytes;
}

TEST_F(ServerDrainTest, ConnectionsEndAndNewOnesAreRefused) {
  Start(Loopback(), EchoAndStay, 2);
  TestClient first(address()), second(address());
  ExpectServed(first);
  ExpectServed(second);
  std::future<Outcome> drained = Drain(std::chrono::seconds(10));
  EXPECT_EQ(first.ReadToEnd(), "");
  EXPECT_EQ(second.ReadToEnd(), "");
  first.Close();
  second.Close();
  const Outcome outcome = drained.get();
  EXPECT_EQ(outcome->ended, 2U);
  EXPECT_EQ(outcome->cut, 0U);
  EXPECT_EQ(observed_.counts().drains, 2);
  EXPECT_FALSE(TestClient(address()).is_connected());
}

TEST_F(ServerDrainTest, WhatStaysIsCutAtTheDeadline) {
  Start(Loopback(), EchoAndStay, 2);
  TestClient ends(address());
  const TestClient stays(address());
  ExpectServed(ends);
  ExpectServed(stays, "stay");
  std::future<Outcome> drained = Drain(std::chrono::seconds(10));
  EXPECT_EQ(ends.ReadToEnd(), "");
  ends.Close();
  AdvanceTime(std::chrono::seconds(9));
  ExpectServed(stays);
  AdvanceTime(std::chrono::seconds(1));
  const Outcome outcome = drained.get();
  EXPECT_EQ(outcome->ended, 1U);
  EXPECT_EQ(outcome->cut, 1U);
  EXPECT_EQ(server_->counters().cut_drained.Value(), 1U);
  EXPECT_EQ(stays.Read(1), "");
}

// Fails if: a connection that gives its requests up looks as if it had completed them.
TEST_F(ServerDrainTest, AConnectionThatEndsItselfWithRequestsIsCut) {
  Start(Loopback(), EchoAndStay);
  TestClient before(address()), during(address()), ends(address());
  for (const TestClient* client : {&before, &during}) ExpectServed(*client, "cut");
  ExpectServed(before, "end");
  before.Close();
  AwaitDestroyed(1);
  EXPECT_EQ(server_->counters().cut_drained.Value(), 1U);
  ExpectServed(ends);
  std::future<Outcome> drained = Drain(std::chrono::seconds(10));
  EXPECT_EQ(during.ReadToEnd(), "");
  EXPECT_EQ(ends.ReadToEnd(), "");
  during.Close();
  ends.Close();
  const Outcome outcome = drained.get();
  EXPECT_EQ(outcome->ended, 1U);
  EXPECT_EQ(outcome->cut, 1U);
  EXPECT_EQ(server_->counters().cut_drained.Value(), 2U);
}

TEST_F(ServerDrainTest, AServerWithoutConnectionsIsDrainedAtOnce) {
  Start();
  EXPECT_EQ(Drain(std::chrono::seconds(10)).get()->cut, 0U);
}

TEST_F(ServerDrainTest, ASecondDrainIsRefused) {
  Start();
  Drain(std::chrono::seconds(10)).get();
  EXPECT_EQ(Drain(std::chrono::seconds(10)).get().error().code, Code::kFailedPrecondition);
}

TEST_F(ServerDrainTest, DestructionCompletesADrain) {
  Start(Loopback(), EchoAndStay);
  const TestClient stays(address());
  ExpectServed(stays, "stay");
  std::future<Outcome> drained = Drain(std::chrono::hours(1));
  server_.reset();
  EXPECT_EQ(drained.get()->cut, 1U);
}

}  // namespace
}  // namespace weir::transport
