// Helpers for every contract suite: synchronous calls, properties and pages.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "weir/base/done.h"
#include "weir/store/bucket/bucket_store.h"

namespace weir {

/// Not a round number and far from 0, so that code that assumes round times fails.
inline constexpr UnixMillis kStart{1'767'225'600'013};

/// Makes calls synchronous: starts a call and pumps until it has completed. Arguments that a store
/// may read only during the call are destroyed before the first pump. Not thread-safe.
class ContractCaller {
 public:
  /// Called repeatedly while a result is pending. Returns false if nothing more can happen without
  /// another call.
  using Pump = std::function<bool()>;
  explicit ContractCaller(Pump pump) : pump_(std::move(pump)) {}

  /// Makes a call of any shape: `start` receives the Done. Returns kInternal if the call never
  /// completed.
  template <class T, class Start>
  Result<T> Call(Start&& start) {
    auto pending = std::make_shared<PendingResult<T>>();
    counts_.emplace_back(pending, &pending->count);
    std::forward<Start>(start)(Done<T>([pending](Result<T> result) {
      if (pending->count++ > 0) return;
      pending->result.emplace(std::move(result));
      pending->there = true;
    }));
    if (!PumpUntil([&] { return pending->there.load(); })) {
      return Fail(Code::kInternal, "the call was never answered");
    }
    return *std::move(pending->result);
  }

  /// Returns false if nothing more can happen, but `reached` does not hold.
  template <class Condition>
  bool PumpUntil(Condition&& reached) {
    while (!reached()) {
      if (!pump_() && !reached()) return false;
    }
    return true;
  }

  /// Returns the number of calls that completed not at all, or more than once.
  std::size_t CountBadResults() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(counts_, [](const auto& count) { return *count != 1; }));
  }

 private:
  template <class T>
  struct PendingResult {
    std::atomic<int> count = 0;
    std::atomic<bool> there = false;
    std::optional<Result<T>> result;
  };

  Pump pump_;
  std::vector<std::shared_ptr<const std::atomic<int>>> counts_;
};

/// Returns the items of all pages of a listing, in order; `read` reads one page. The test fails if
/// a page fails or has more than `limit` items, or if the listing does not end.
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

/// Returns the error of a call that must fail. If the call succeeded, the test fails, and kUnknown
/// is returned.
template <class T>
Error ErrorOf(const Result<T>& result) {
  if (!result) return result.error();
  ADD_FAILURE() << "it succeeded";
  return {};
}

/// Checks a RapidCheck property with this number of random cases.
template <class Property>
void CheckPropertyTimes(int cases, Property&& property) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = cases;
  const char* const name = testing::UnitTest::GetInstance()->current_test_info()->name();
  const auto result = rc::detail::checkTestable(std::forward<Property>(property),
                                                rc::detail::TestMetadata{name, name}, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << text.str();
}

}  // namespace weir
