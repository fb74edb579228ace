// What every backend must do: one suite of tests, run on each of them. It holds implementations to
// the texts of bucket_store.h, config_store.h and backend.h. A backend's tests take all of it by
// linking weir_store_contract and writing
//
//   INSTANTIATE_TEST_SUITE_P(Memory, StoreContract, ContractOn({{"default", [] {
//     return std::make_unique<PlainHarness>(MakeMemoryBackend());
//   }}}), ContractName);
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

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

/// Far from 0, and odd, so that what assumes round times fails.
inline constexpr UnixMillis kStart{1'767'225'600'013};

/// Charges of whole tokens and of millitokens.
Charge Tokens(const TargetPtr& target, std::vector<std::int64_t> tokens);
Charge Milli(const TargetPtr& target, std::vector<std::int64_t> millitokens);

/// All pages of a listing, in order; `read` reads one. A failure of the test where one fails, holds
/// more than `limit`, or there is no end.
template <class ReadPage>
auto AllPages(std::size_t limit, const ReadPage& read) {
  PageRequest request{.cursor = {}, .limit = limit};
  decltype(read(request)->items) listed;
  for (int pages = 0; pages < 100; ++pages) {
    auto page = read(request);
    if (!page) {
      ADD_FAILURE() << page.error().message;
      return listed;
    }
    EXPECT_LE(page->items.size(), limit);
    listed.insert(listed.end(), page->items.begin(), page->items.end());
    request.cursor = page->next;
    if (request.cursor.empty()) return listed;
  }
  ADD_FAILURE() << "a listing without an end";
  return listed;
}

/// The error of a call that must fail; kUnknown, and a failure of the test, if it did not.
template <class T>
Error ErrorOf(const Result<T>& result) {
  if (!result) return result.error();
  ADD_FAILURE() << "it succeeded";
  return {};
}

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
  /// What each limit of a bucket has at `now`, in millitokens.
  std::vector<std::int64_t> Balance(const TargetPtr& target, UnixMillis now);
  /// The buckets of these entities that are kept, in the order of their keys.
  std::vector<BucketRecord> Kept(const std::vector<std::string>& entities);

  /// Checks a RapidCheck property as often as the harness says.
  template <class Property>
  void CheckProperty(Property&& property) {
    rc::detail::TestParams params = rc::detail::configuration().testParams;
    params.maxSuccess = harness_->cases();
    const char* const name = testing::UnitTest::GetInstance()->current_test_info()->name();
    const auto result = rc::detail::checkTestable(std::forward<Property>(property),
                                                  rc::detail::TestMetadata{name, name}, params);
    std::ostringstream text;
    rc::detail::printResultMessage(result, text);
    EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << text.str();
  }

  std::unique_ptr<BackendHarness> harness_;
  ContractClient store_;

 private:
  int names_ = 0;
};

/// For backends that take calls from several threads at once; instantiate both suites for these.
class StoreContractThreads : public StoreContract {};

/// For backends of which several namespaces can be opened (BackendHarness::OpenNamespace).
class StoreContractNamespaces : public StoreContract {};

}  // namespace weir
