// A server on loopback for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "weir/telemetry/testing/recording_log_fixture.h"
#include "weir/transport/server.h"
#include "weir/transport/testing/manual_clock.h"
#include "weir/transport/testing/scripted_connection.h"
#include "weir/transport/testing/test_client_fixture.h"

namespace weir::transport {

class ServerTestBase : public testing::Test {
 protected:
  static ServerOptions Loopback() {
    ServerOptions options;
    options.addresses = {"127.0.0.1:0"};
    return options;
  }

  /// Starts a server with connections that echo, or do as `on_bytes` says.
  void Start(ServerOptions options = Loopback(), ScriptedConnection::OnBytes on_bytes = nullptr,
             std::size_t threads = 1) {
    loops_ = *StartLoops(clock_, threads);
    server_.emplace(loops_, std::move(options), MakeScripted(observed_, std::move(on_bytes)), log_);
    const Status started = server_->Start();
    ASSERT_TRUE(started) << started.error().message;
  }
  std::string address() const { return server_->addresses().front(); }
  /// Returns when all tasks that were posted to the loops have run.
  void RunPosted() {
    for (const auto& loop : loops_) loop->RunAndWait([] {});
  }
  void AdvanceTime(nanoseconds by) {
    clock_.Advance(by);
    RunPosted();
  }
  void AwaitDestroyed(int count) {
    observed_.Await([count](const auto& counts) { return counts.destroyed >= count; });
  }

  ManualClock clock_;
  RecordingLog log_;
  Observed observed_;
  EventLoops loops_;
  std::optional<Server> server_;
};

}  // namespace weir::transport
