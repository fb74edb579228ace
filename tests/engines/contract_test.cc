// The contract suite on a real engine, over the network. Run it by tests/engines/run.py.
#include "weir/store/testing/contract.h"

#include "tests/engines/engine_connection.h"
#include "weir/zae_table/dynamo_backend.h"
#include "weir/zae_table/table_admin.h"

namespace weir {
namespace {

/// One table for all tests; each test has a namespace of its own.
class Engine {
 public:
  Engine() {
    dynamo::TableAdmin admin(connection_->table(), connection_->scheduler());
    connection_.Make<dynamo::TableCreated>(
        [&](Deadline deadline, auto done) { admin.Create("weir", deadline, std::move(done)); });
  }

  std::unique_ptr<Backend> NewBackend() { return Open("ns" + std::to_string(++namespaces_)); }

  std::unique_ptr<Backend> Open(std::string id) {
    return std::make_unique<dynamo::DynamoBackend>(dynamo::BackendParts{
        .client = connection_->client(),
        .scheduler = connection_->scheduler(),
        .table = "contract",
        .namespace_id = std::move(id),
        .sources = {.now = [this] { return now(); }, .random = dynamo::Connection::Random()},
        .repair_rest = milliseconds(0)});
  }

  UnixMillis now() const { return connection_.now(); }

 private:
  EngineConnection connection_{"contract"};
  int namespaces_ = 0;
};

/// Callbacks run on the connection's threads.
class EngineHarness final : public BackendHarness {
 public:
  explicit EngineHarness(Engine& engine) : engine_(engine), backend_(engine.NewBackend()) {}
  Backend& backend() override { return *backend_; }
  std::unique_ptr<Backend> OpenNamespace(const std::string& id) override {
    return engine_.Open(id);
  }
  UnixMillis now() const override { return engine_.now(); }
  bool Pump() override {
    std::this_thread::yield();
    return true;
  }
  // The tests with threads have 400 calls in flight for each case. Many more would wait for a
  // connection longer than an attempt may take.
  int cases() const override { return 2; }

 private:
  Engine& engine_;
  std::unique_ptr<Backend> backend_;
};

const auto kCases = ContractOn({{"engine", [] {
                                   static Engine engine;
                                   return std::make_unique<EngineHarness>(engine);
                                 }}});

INSTANTIATE_TEST_SUITE_P(DynamoDb, StoreContract, kCases, ContractName);
INSTANTIATE_TEST_SUITE_P(DynamoDb, StoreContractRejoin, kCases, ContractName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreContractUsage);  // the aggregator counts
INSTANTIATE_TEST_SUITE_P(DynamoDb, StoreContractThreads, kCases, ContractName);
INSTANTIATE_TEST_SUITE_P(DynamoDb, StoreContractNamespaces, kCases, ContractName);

}  // namespace
}  // namespace weir
