// Runs the contract suite of all backends on this one: relaxed and strict, in simulated time and on
// a thread.
#include <thread>

#include "weir/embedded/testing/embedded_fixture.h"
#include "weir/runtime/loop.h"
#include "weir/store/testing/contract.h"

namespace weir {
namespace {

// Small enough for folds to happen while the suite runs.
constexpr std::size_t kFoldBytes = 2000;

class SimHarness final : public BackendHarness {
 public:
  explicit SimHarness(Durability durability) {
    EXPECT_TRUE(client_.Open({.durability = durability, .fold_bytes = kFoldBytes}));
  }
  Backend& backend() override { return client_.backend(); }
  bool Pump() override { return client_.scheduler().RunNext(); }
  std::unique_ptr<Backend> OpenNamespace(const std::string& id) override {
    auto opened = OpenEmbedded(client_.path(), client_.scheduler(), {.namespace_name = "id:" + id});
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }
  UnixMillis now() const override { return client_.now(); }
  int cases() const override { return 25; }

 private:
  TempFolder folder_;
  EmbeddedClient client_{folder_ / "weir.db"};
};

class LoopHarness final : public BackendHarness {
 public:
  explicit LoopHarness(Durability durability) {
    auto opened = OpenEmbedded(folder_ / "weir.db", loop_,
                               {.durability = durability, .fold_bytes = kFoldBytes});
    EXPECT_TRUE(opened);
    backend_ = *std::move(opened);
  }
  Backend& backend() override { return *backend_; }
  bool Pump() override {
    std::this_thread::yield();
    return true;
  }
  std::unique_ptr<Backend> OpenNamespace(const std::string& id) override {
    auto opened = OpenEmbedded(folder_ / "weir.db", loop_, {.namespace_name = "id:" + id});
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }
  UnixMillis now() const override { return clock_.WallNow(); }
  int cases() const override { return 5; }

 private:
  TempFolder folder_;
  SystemClock clock_;
  Loop loop_{clock_};
  std::unique_ptr<EmbeddedBackend> backend_;
};

template <class Harness>
ContractCase Case(std::string name, Durability durability) {
  return {std::move(name), [durability] { return std::make_unique<Harness>(durability); }};
}

const auto kCases = ContractOn({
    Case<SimHarness>("relaxed", Durability::kRelaxed),
    Case<SimHarness>("strict", Durability::kStrict),
    Case<LoopHarness>("relaxed_on_a_thread", Durability::kRelaxed),
    Case<LoopHarness>("strict_on_a_thread", Durability::kStrict),
});
INSTANTIATE_TEST_SUITE_P(Embedded, StoreContract, kCases, ContractName);
// In simulated time only: an idle backend removes full buckets, and sets back buckets that are
// ahead, by its own time. The times of this suite are minutes away from the real time of a thread,
// so a pause of a second in the middle of a case would admit tokens twice.
INSTANTIATE_TEST_SUITE_P(Embedded, StoreContractRejoin,
                         ContractOn({
                             Case<SimHarness>("relaxed", Durability::kRelaxed),
                             Case<SimHarness>("strict", Durability::kStrict),
                         }),
                         ContractName);
INSTANTIATE_TEST_SUITE_P(Embedded, StoreContractUsage, kCases, ContractName);
INSTANTIATE_TEST_SUITE_P(Embedded, StoreContractNamespaces, kCases, ContractName);

INSTANTIATE_TEST_SUITE_P(Embedded, StoreContractThreads,
                         ContractOn({
                             Case<LoopHarness>("relaxed", Durability::kRelaxed),
                             Case<LoopHarness>("strict", Durability::kStrict),
                         }),
                         ContractName);

}  // namespace
}  // namespace weir
