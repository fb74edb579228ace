// The contract suite on a simulated DynamoDB.
#include "weir/store/testing/contract.h"
#include "weir/zae_table/dynamo_backend.h"
#include "weir/zae_table/testing/zae_sim_table.h"
#include "weir/zae_table/version.h"

namespace weir::dynamo {
namespace {

/// Callbacks run before the calls return. Uses one thread.
class SimHarness final : public BackendHarness {
 public:
  SimHarness() { table_.Put(NewVersionRecord({0}, "")); }
  Backend& backend() override { return backend_; }
  bool Pump() override { return table_.scheduler.RunNext(); }
  std::unique_ptr<Backend> OpenNamespace(const std::string& id) override {
    return std::make_unique<DynamoBackend>(Parts(id));
  }
  UnixMillis now() const override { return table_.scheduler.clock().WallNow(); }
  int cases() const override { return 20; }

 private:
  BackendParts Parts(std::string id) {
    return {.client = table_.client,
            .scheduler = table_.scheduler,
            .table = table_.table.name(),
            .namespace_id = std::move(id),
            .sources = {.random = [this] { return ++drawn_ * 0x1234'5678'9ABC'DEF1; }},
            .repair_rest = milliseconds(0)};
  }

  std::uint64_t drawn_ = 0;
  ZaeSimTable table_;
  DynamoBackend backend_{Parts("ns-contract")};
};

}  // namespace
}  // namespace weir::dynamo

namespace weir {
const auto kCases = ContractOn({{"plain", [] { return std::make_unique<dynamo::SimHarness>(); }}});
INSTANTIATE_TEST_SUITE_P(SimDynamo, StoreContract, kCases, ContractName);
INSTANTIATE_TEST_SUITE_P(SimDynamo, StoreContractNamespaces, kCases, ContractName);
INSTANTIATE_TEST_SUITE_P(SimDynamo, StoreContractRejoin, kCases, ContractName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreContractUsage);  // the aggregator counts
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreContractThreads);
}  // namespace weir
