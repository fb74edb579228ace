// The suites of places of slots, limits and tokens on a real engine, over the network. Run beside
// one: tests/engines/run.py.
#include "weir/store/reservation_contract.h"

#include <cstdlib>
#include <iostream>
#include <thread>

#include "weir/backends/open.h"
#include "weir/base/rng.h"
#include "weir/dynamo/connection.h"
#include "weir/rate_limiter_py/make_tables.h"
#include "weir/rate_limiter_py/slot_item.h"
#include "weir/rate_limiter_py/tables_backend.h"
#include "weir/runtime/await.h"

namespace weir {
namespace {

using rate_limiter_py::TablesBackend;
using rate_limiter_py::TablesMade;

constexpr std::chrono::seconds kWait{30};

/// One connection and one set of tables for all tests; each has names of its own.
class Engine {
 public:
  Engine() {
    const char* endpoint = std::getenv("WEIR_TEST_DYNAMODB");
    if (endpoint == nullptr)
      Give("WEIR_TEST_DYNAMODB is not set: run this by tests/engines/run.py");
    auto connection = dynamo::Connection::Open({.table = "reserved", .endpoint = endpoint}, clock_,
                                               ProcessSurroundings());
    if (!connection) Give(connection.error().message);
    connection_ = std::move(*connection);
    const auto backend = Open();
    const auto made = Await<TablesMade>([&](auto done) {
      MakeTables(backend->tables(), connection_->scheduler(), Deadline::After(clock_, kWait),
                 std::move(done));
    });
    if (!made) Give(made.error().message);
  }

  std::unique_ptr<TablesBackend> Open() {
    const auto names = rate_limiter_py::FindNames("reserved", [](auto) { return std::nullopt; });
    return std::make_unique<TablesBackend>(
        connection_->client(), connection_->scheduler(), *names,
        rate_limiter_py::TablesBackendOptions{.seed = SystemSeed()});
  }
  UnixMillis now() const { return clock_.WallNow(); }

 private:
  [[noreturn]] static void Give(const std::string& message) {
    std::cerr << message << '\n';
    std::exit(1);
  }

  SystemClock clock_;
  std::unique_ptr<dynamo::Connection> connection_;
};

/// Answers come on the connection's threads.
class EngineTables final : public ReservationHarness {
 public:
  explicit EngineTables(Engine& engine) : engine_(engine), backend_(engine.Open()) {}
  ReservationBackend& backend() override { return *backend_; }
  std::unique_ptr<ReservationBackend> AnotherClient() override { return engine_.Open(); }
  UnixMillis now() const override { return engine_.now(); }
  bool Pump() override {
    std::this_thread::yield();
    return true;
  }
  milliseconds skew() const override { return rate_limiter_py::SlotStoreOptions().skew; }
  milliseconds rounding(milliseconds ttl) const override {
    return milliseconds(rate_limiter_py::ExpiryStep(ttl) * 1000);
  }
  int cases() const override { return 2; }

 private:
  Engine& engine_;
  std::unique_ptr<ReservationBackend> backend_;
};

const auto kTables = ReservationsOn({{"engine", [] {
                                        static Engine engine;
                                        return std::make_unique<EngineTables>(engine);
                                      }}});

INSTANTIATE_TEST_SUITE_P(DynamoDb, ReservationContract, kTables, ReservationsName);
INSTANTIATE_TEST_SUITE_P(DynamoDb, AccountLimitContract, kTables, ReservationsName);
INSTANTIATE_TEST_SUITE_P(DynamoDb, TokenContract, kTables, ReservationsName);
INSTANTIATE_TEST_SUITE_P(DynamoDb, ReservationContractClients, kTables, ReservationsName);
INSTANTIATE_TEST_SUITE_P(DynamoDb, ReservationContractThreads, kTables, ReservationsName);

}  // namespace
}  // namespace weir
