#include "weir/runtime/earliest.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Earliest, IsTheEarliestOfTheTimesThatAreSet) {
  EXPECT_EQ(EarliestOf({}), std::nullopt);
  EXPECT_EQ(EarliestOf({std::nullopt, std::nullopt}), std::nullopt);
  EXPECT_EQ(EarliestOf({Instant{7}, std::nullopt, Instant{3}, Instant{5}}), Instant{3});
}

}  // namespace
}  // namespace weir
