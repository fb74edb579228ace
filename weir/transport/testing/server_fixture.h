// A server on loopback for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
    MakeServer(std::move(options), std::move(on_bytes), threads);
    const Status started = server_->Start();
    ASSERT_TRUE(started) << started.error().message;
  }
  /// Makes the server, which does not listen yet.
  void MakeServer(ServerOptions options, ScriptedConnection::OnBytes on_bytes,
                  std::size_t threads = 1) {
    loops_ = *StartLoops(clock_, threads);
    server_.emplace(loops_, std::move(options), MakeScripted(observed_, std::move(on_bytes)), log_);
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

  /// Starts a server, connects two clients, and sends `many` bytes on the first connection and a
  /// few on the second before the loop reads any. Returns the number of bytes of the first that
  /// were read before those of the second.
  template <class Client>
  std::size_t ReadBeforeOther(ServerOptions options, std::size_t many) {
    std::size_t read = 0;
    std::size_t read_before = many;
    Start(std::move(options), [&](auto&, std::string_view bytes) {
      if (bytes == "few") read_before = read;
      read += bytes.size();
    });
    const Client first(address());
    const Client second(address());
    observed_.Await([](const auto& counts) { return counts.opened == 2; });
    std::promise<void> sent;
    loops_.front()->Post([&sent] { sent.get_future().wait(); });
    first.Send(std::string(many, 'm'));
    second.Send("few");
    sent.set_value();
    observed_.Await([&](const auto& counts) { return counts.received == many + 3; });
    RunPosted();  // the last call of the function above has returned
    return read_before;
  }

  ManualClock clock_;
  RecordingLog log_;
  Observed observed_;
  EventLoops loops_;
  std::optional<Server> server_;
};

}  // namespace weir::transport
