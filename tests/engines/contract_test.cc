// The contract suite on a real engine, over the network. Run beside one: tests/engines/run.py.
#include <cstdlib>
#include <iostream>

#include "weir/backends/open.h"
#include "weir/dynamo/connection.h"
#include "weir/dynamo/dynamo_backend.h"
#include "weir/dynamo/table_admin.h"
#include "weir/runtime/await.h"
#include "weir/store/contract.h"

namespace weir {
namespace {

constexpr std::chrono::seconds kWait{30};

/// One connection and one table for all tests; each has a namespace of its own.
class Engine {
 public:
  Engine() {
    const char* endpoint = std::getenv("WEIR_TEST_DYNAMODB");
    if (endpoint == nullptr)
      Give("WEIR_TEST_DYNAMODB is not set: run this by tests/engines/run.py");
    auto connection = dynamo::Connection::Open({.table = "contract", .endpoint = endpoint}, clock_,
                                               ProcessSurroundings());
    if (!connection) Give(connection.error().message);
    connection_ = std::move(*connection);
    dynamo::TableAdmin admin(connection_->table(), connection_->scheduler());
    const auto created = Await<dynamo::TableCreated>(
        [&](auto done) { admin.Create("weir", Deadline::After(clock_, kWait), std::move(done)); });
    if (!created) Give(created.error().message);
  }

  std::unique_ptr<Backend> NewBackend() { return Open("ns" + std::to_string(++namespaces_)); }

  std::unique_ptr<Backend> Open(std::string id) {
    return std::make_unique<dynamo::DynamoBackend>(
        dynamo::BackendParts{.client = connection_->client(),
                             .scheduler = connection_->scheduler(),
                             .table = "contract",
                             .namespace_id = std::move(id),
                             .sources = {.now = [this] { return clock_.WallNow(); },
                                         .random = dynamo::Connection::Random()}});
  }

  UnixMillis now() const { return clock_.WallNow(); }

 private:
  [[noreturn]] static void Give(const std::string& message) {
    std::cerr << message << '\n';
    std::exit(1);
  }

  SystemClock clock_;
  std::unique_ptr<dynamo::Connection> connection_;
  int namespaces_ = 0;
};

/// Answers come on the connection's threads.
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
  // The tests with threads have 400 calls under way for each case. Many more wait for a connection
  // longer than an attempt may take.
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
INSTANTIATE_TEST_SUITE_P(DynamoDb, StoreContractThreads, kCases, ContractName);
INSTANTIATE_TEST_SUITE_P(DynamoDb, StoreContractNamespaces, kCases, ContractName);

}  // namespace
}  // namespace weir
