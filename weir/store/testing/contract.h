// The contract of every backend as one suite of tests. It tests implementations against the texts
// of bucket_store.h, config_store.h and backend.h. A backend's tests include all of it by linking
// weir_store_contract and writing
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

#include "weir/store/testing/contract_caller.h"
#include "weir/store/testing/contract_client.h"
#include "weir/store/testing/contract_print.h"

namespace weir {

struct ContractCase {
  std::string name;  ///< letters, digits and '_'
  /// Makes a new, empty backend for each test.
  std::function<std::unique_ptr<BackendHarness>()> make;

  friend void PrintTo(const ContractCase& self, std::ostream* out) { *out << self.name; }
};

inline auto ContractOn(std::vector<ContractCase> cases) { return testing::ValuesIn(cases); }
std::string ContractName(const testing::TestParamInfo<ContractCase>& info);

inline Limit Rpm(std::int64_t tokens) { return {"rpm", PerMinute(tokens)}; }
inline Limit Tpm(std::int64_t tokens) { return {"tpm", PerMinute(tokens)}; }

/// The balance of each limit of a bucket, in millitokens.
using Balances = std::vector<std::int64_t>;

/// Charges in whole tokens and in millitokens.
Charge Tokens(const TargetPtr& target, std::vector<std::int64_t> tokens);
Charge Milli(const TargetPtr& target, std::vector<std::int64_t> millitokens);

/// TearDown checks that every call has completed exactly once.
class StoreContract : public testing::TestWithParam<ContractCase> {
 protected:
  StoreContract();
  void TearDown() override;

  /// Returns a name that was not used before.
  std::string Fresh(std::string_view stem);
  /// Returns a bucket of a new entity.
  TargetPtr FreshTarget(std::vector<Limit> limits);

  /// Makes an acquire that must not fail; it may be refused. Checks that the decision is
  /// consistent.
  Decision Ask(std::vector<Charge> charges, UnixMillis now);
  /// Returns the balance of each limit of a bucket at `now`.
  Balances Balance(const TargetPtr& target, UnixMillis now);
  /// Returns the stored buckets of these entities, in the order of their keys.
  std::vector<BucketRecord> Kept(const std::vector<std::string>& entities);

  /// Checks a RapidCheck property with the harness's number of cases.
  template <class Property>
  void CheckProperty(Property&& property) {
    CheckPropertyTimes(harness_->cases(), std::forward<Property>(property));
  }

  std::unique_ptr<BackendHarness> harness_;
  ContractClient store_;

 private:
  int names_ = 0;
};

/// Tests of limits that leave a bucket and rejoin it, as a separate suite.
class StoreContractRejoin : public StoreContract {};

/// For backends that allow concurrent calls from several threads; such a backend instantiates both
/// suites.
class StoreContractThreads : public StoreContract {};

/// For backends that count usage themselves, with the changes of buckets.
class StoreContractUsage : public StoreContract {};

/// For backends that can open several namespaces (BackendHarness::OpenNamespace).
class StoreContractNamespaces : public StoreContract {};

}  // namespace weir
