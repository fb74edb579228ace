// What every backend must do: one suite of tests, run on each of them. It holds implementations to
// the texts of bucket_store.h, config_store.h and backend.h. A backend's tests take all of it by
// linking weir_store_contract and writing
//
//   INSTANTIATE_TEST_SUITE_P(Memory, StoreContract, ContractOn({{"default", [] {
//     return std::make_unique<PlainHarness>(MakeMemoryBackend());
//   }}}), ContractName);
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/store/contract_caller.h"
#include "weir/store/contract_client.h"
#include "weir/store/contract_print.h"

namespace weir {

struct ContractCase {
  std::string name;  ///< letters, digits and '_'
  /// A backend of its own for each test, with nothing in it.
  std::function<std::unique_ptr<BackendHarness>()> make;

  friend void PrintTo(const ContractCase& self, std::ostream* out) { *out << self.name; }
};

inline auto ContractOn(std::vector<ContractCase> cases) { return testing::ValuesIn(cases); }
std::string ContractName(const testing::TestParamInfo<ContractCase>& info);

inline Limit Rpm(std::int64_t tokens) { return {"rpm", PerMinute(tokens)}; }
inline Limit Tpm(std::int64_t tokens) { return {"tpm", PerMinute(tokens)}; }

/// Of each limit of a bucket, in millitokens.
using Balances = std::vector<std::int64_t>;

/// Charges of whole tokens and of millitokens.
Charge Tokens(const TargetPtr& target, std::vector<std::int64_t> tokens);
Charge Milli(const TargetPtr& target, std::vector<std::int64_t> millitokens);

/// At the end of each test every call has been answered exactly once.
class StoreContract : public testing::TestWithParam<ContractCase> {
 protected:
  StoreContract();
  void TearDown() override;

  /// A name that was not used before.
  std::string Fresh(std::string_view stem);
  /// A bucket of an entity of its own.
  TargetPtr FreshTarget(std::vector<Limit> limits);

  /// An acquire that must not fail; it may refuse. The decision must agree with itself.
  Decision Ask(std::vector<Charge> charges, UnixMillis now);
  /// What each limit of a bucket has at `now`.
  Balances Balance(const TargetPtr& target, UnixMillis now);
  /// The buckets of these entities that are kept, in the order of their keys.
  std::vector<BucketRecord> Kept(const std::vector<std::string>& entities);

  /// Checks a RapidCheck property as often as the harness says.
  template <class Property>
  void CheckProperty(Property&& property) {
    CheckPropertyTimes(harness_->cases(), std::forward<Property>(property));
  }

  std::unique_ptr<BackendHarness> harness_;
  ContractClient store_;

 private:
  int names_ = 0;
};

/// Limits that leave a bucket and rejoin it. A suite of its own while not every backend keeps to
/// it.
class StoreContractRejoin : public StoreContract {};

/// For backends that take calls from several threads at once; instantiate both suites for these.
class StoreContractThreads : public StoreContract {};

/// For backends of which several namespaces can be opened (BackendHarness::OpenNamespace).
class StoreContractNamespaces : public StoreContract {};

}  // namespace weir
