// The contract suites of slots, limits and tokens, on the three tables in a simulated DynamoDB.
#include "weir/store/testing/reservation/reservation_contract.h"

#include "weir/dynamodb/testing/sim_table.h"
#include "weir/rate_limiter_py/slots/slot_item.h"
#include "weir/rate_limiter_py/tables_backend.h"

namespace weir::rate_limiter_py {
namespace {

TableNames PlainNames() {
  return {"tokens", "limits", "slots", "resource-index", "limits-service-index"};
}

/// Calls complete before they return. One thread.
class SimTables final : public ReservationHarness {
 public:
  SimTables() {
    const TableLayouts layouts = LayoutsOf(PlainNames());
    dynamo::CreateTableIn(server_, PlainNames().tokens, layouts.tokens);
    dynamo::CreateTableIn(server_, PlainNames().limits, layouts.limits);
    dynamo::CreateTableIn(server_, PlainNames().slots, layouts.slots);
    backend_ = Open(1);
  }
  ReservationBackend& backend() override { return *backend_; }
  bool Pump() override { return scheduler_.RunNext(); }
  std::unique_ptr<ReservationBackend> AnotherClient() override { return Open(++clients_); }
  UnixMillis now() const override { return scheduler_.clock().WallNow(); }
  milliseconds skew() const override { return SlotStoreOptions().skew; }
  milliseconds rounding(milliseconds ttl) const override {
    return milliseconds(ExpiryStep(ttl) * 1000);
  }
  int cases() const override { return 20; }

 private:
  std::unique_ptr<ReservationBackend> Open(std::uint64_t seed) {
    return std::make_unique<TablesBackend>(client_, scheduler_, PlainNames(),
                                           TablesBackendOptions{.seed = seed});
  }

  std::uint64_t clients_ = 1;
  sim::SimScheduler scheduler_;
  sim::SimDynamo server_{scheduler_.clock(), 7};
  dynamo::DirectClient client_{server_};
  std::unique_ptr<ReservationBackend> backend_;
};

}  // namespace
}  // namespace weir::rate_limiter_py

namespace weir {
const auto kTables =
    ReservationsOn({{"plain", [] { return std::make_unique<rate_limiter_py::SimTables>(); }}});
INSTANTIATE_TEST_SUITE_P(SimDynamo, ReservationContract, kTables, ReservationsName);
INSTANTIATE_TEST_SUITE_P(SimDynamo, AccountLimitContract, kTables, ReservationsName);
INSTANTIATE_TEST_SUITE_P(SimDynamo, TokenContract, kTables, ReservationsName);
INSTANTIATE_TEST_SUITE_P(SimDynamo, ReservationContractClients, kTables, ReservationsName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ReservationContractThreads);
}  // namespace weir
