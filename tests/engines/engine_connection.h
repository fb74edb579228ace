// The connection to the engine that tests/engines/run.py starts, for the contract suites.
#pragma once

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "weir/backends/open.h"
#include "weir/runtime/await.h"
#include "weir/zae_table/connection.h"

namespace weir {

/// One connection for all tests of a program. Exits if there is no engine.
class EngineConnection {
 public:
  explicit EngineConnection(const std::string& table) {
    const char* endpoint = std::getenv("WEIR_TEST_DYNAMODB");
    if (endpoint == nullptr)
      GiveUp("WEIR_TEST_DYNAMODB is not set: run this by tests/engines/run.py");
    auto opened = dynamo::Connection::Open({.table = table, .endpoint = endpoint}, clock_,
                                           ProcessEnvironment());
    if (!opened) GiveUp(opened.error().message);
    connection_ = std::move(*opened);
  }

  /// Creates something before the first test. `start` takes a deadline and a Done<T>. Exits on an
  /// error.
  template <class T, class Start>
  void Make(const Start& start) const {
    const Deadline deadline = Deadline::After(clock_, std::chrono::seconds(30));
    const auto made = Await<T>([&](Done<T> done) { start(deadline, std::move(done)); });
    if (!made) GiveUp(made.error().message);
  }

  dynamo::Connection& operator*() const { return *connection_; }
  dynamo::Connection* operator->() const { return connection_.get(); }
  UnixMillis now() const { return clock_.WallNow(); }

 private:
  [[noreturn]] static void GiveUp(const std::string& message) {
    std::cerr << message << '\n';
    std::exit(1);
  }

  SystemClock clock_;
  std::unique_ptr<dynamo::Connection> connection_;
};

}  // namespace weir
