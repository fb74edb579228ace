// The contract suite on a simulated DynamoDB.
#include "weir/dynamo/dynamo_backend.h"
#include "weir/dynamo/dynamo_fixture.h"
#include "weir/store/contract.h"

namespace weir::dynamo {
namespace {

/// Answers come before calls return. One thread.
class SimHarness final : public BackendHarness {
 public:
  Backend& backend() override { return backend_; }
  bool Pump() override { return table_.scheduler.RunNext(); }
  int cases() const override { return 20; }

 private:
  std::uint64_t drawn_ = 0;
  SimTable table_;
  DynamoBackend backend_{{.client = table_.client,
                          .scheduler = table_.scheduler,
                          .table = table_.table.name(),
                          .namespace_id = "ns-contract",
                          .sources = {.now = [this] { return table_.scheduler.clock().WallNow(); },
                                      .random = [this] { return ++drawn_; }}}};
};

}  // namespace
}  // namespace weir::dynamo

namespace weir {
INSTANTIATE_TEST_SUITE_P(
    SimDynamo, StoreContract,
    ContractOn({{"plain", [] { return std::make_unique<dynamo::SimHarness>(); }}}), ContractName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreContractThreads);
}  // namespace weir
