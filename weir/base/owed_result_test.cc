#include "weir/base/owed_result.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

namespace weir {
namespace {

using Owed = OwedResult<int, "the queue was closed">;

struct Log {
  Done<int> Receiver() {
    return [this](Result<int> result) { results.push_back(std::move(result)); };
  }
  std::vector<Result<int>> results;
};

TEST(OwedResult, ReportsTheResultOnce) {
  Log log;
  {
    Owed(log.Receiver())(7);
  }
  ASSERT_EQ(log.results.size(), 1U);
  EXPECT_EQ(*log.results[0], 7);
}

// Fails if: a task that is dropped by its queue leaves its caller without a result.
TEST(OwedResult, ReportsItsEndIfItIsDestroyed) {
  Log log;
  {
    const Owed owed(log.Receiver());
  }
  ASSERT_EQ(log.results.size(), 1U);
  EXPECT_EQ(log.results[0].error().code, Code::kCancelled);
  EXPECT_EQ(log.results[0].error().message, "the queue was closed");
}

// Fails if: a moved-from object still owes the result, so that the receiver gets two.
TEST(OwedResult, MovesWithItsObligation) {
  Log log;
  {
    Done<int> done = Owed(log.Receiver());
    Done<int> moved = std::move(done);
    EXPECT_TRUE(log.results.empty());
    moved(1);
  }
  EXPECT_EQ(log.results.size(), 1U);
}

TEST(OwedResult, IsAsSmallAsItsReceiver) {
  struct Pointer {
    explicit operator bool() const { return to != nullptr; }
    void operator()(Result<int> result) const { to->emplace(std::move(result)); }
    std::optional<Result<int>>* to = nullptr;
  };
  std::optional<Result<int>> result;
  OwedResult<int, "dropped", Pointer> owed(Pointer{&result});
  static_assert(sizeof(owed) == sizeof(void*));
  owed(3);
  EXPECT_EQ(**result, 3);
}

}  // namespace
}  // namespace weir
