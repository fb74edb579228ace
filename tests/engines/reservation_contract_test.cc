// The contract suites of slots, limits and tokens on a real engine, over the network. Run them by
// tests/engines/run.py.
#include "weir/store/testing/reservation/reservation_contract.h"

#include <thread>

#include "tests/engines/engine_connection.h"
#include "weir/base/rng.h"
#include "weir/rate_limiter_py/make_tables.h"
#include "weir/rate_limiter_py/slots/slot_item.h"
#include "weir/rate_limiter_py/tables_backend.h"

namespace weir {
namespace {

using rate_limiter_py::TablesBackend;
using rate_limiter_py::TablesMade;

/// One set of tables for all tests; each test has names of its own.
class Engine {
 public:
  Engine() {
    const auto backend = Open();
    connection_.Make<TablesMade>([&](Deadline deadline, auto done) {
      MakeTables(backend->tables(), connection_->scheduler(), deadline, std::move(done));
    });
  }

  std::unique_ptr<TablesBackend> Open() {
    const auto names = rate_limiter_py::FindNames("reserved", [](auto) { return std::nullopt; });
    return std::make_unique<TablesBackend>(
        connection_->client(), connection_->scheduler(), *names,
        rate_limiter_py::TablesBackendOptions{.seed = SystemSeed()});
  }
  UnixMillis now() const { return connection_.now(); }

 private:
  EngineConnection connection_{"reserved"};
};

/// Callbacks run on the connection's threads.
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
