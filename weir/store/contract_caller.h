// What every contract suite needs: calls as if their answers came at once, properties, pages.
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
#include "weir/store/bucket_store.h"

namespace weir {

/// Far from 0, and odd, so that what assumes round times fails.
inline constexpr UnixMillis kStart{1'767'225'600'013};

/// Calls, and pumps until the answer is there. What a call may read only while it runs is gone
/// before the first pump. Not thread-safe.
class ContractCaller {
 public:
  /// Called again and again while an answer is awaited. False: without another call nothing will
  /// happen any more.
  using Pump = std::function<bool()>;
  explicit ContractCaller(Pump pump) : pump_(std::move(pump)) {}

  /// A call of any shape: `start` gets the Done. kInternal if no answer came.
  template <class T, class Start>
  Result<T> Call(Start&& start) {
    auto answer = std::make_shared<Answer<T>>();
    counts_.emplace_back(answer, &answer->count);
    std::forward<Start>(start)(Done<T>([answer](Result<T> result) {
      if (answer->count++ > 0) return;
      answer->result.emplace(std::move(result));
      answer->there = true;
    }));
    if (!PumpUntil([&] { return answer->there.load(); })) {
      return Fail(Code::kInternal, "the call was never answered");
    }
    return *std::move(answer->result);
  }

  /// False if nothing more happens before `reached` holds.
  template <class Condition>
  bool PumpUntil(Condition&& reached) {
    while (!reached()) {
      if (!pump_() && !reached()) return false;
    }
    return true;
  }

  /// How many calls were answered not at all, or more than once.
  std::size_t CountBadAnswers() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(counts_, [](const auto& count) { return *count != 1; }));
  }

 private:
  template <class T>
  struct Answer {
    std::atomic<int> count = 0;
    std::atomic<bool> there = false;
    std::optional<Result<T>> result;
  };

  Pump pump_;
  std::vector<std::shared_ptr<const std::atomic<int>>> counts_;
};

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

/// Checks a RapidCheck property with so many random cases.
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
