#include "weir/base/page.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Page, ALimitOfZeroIsRefused) {
  EXPECT_EQ(CheckLimit({.cursor = {}, .limit = 0}).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(CheckLimit({.cursor = {}, .limit = 1}));
}

}  // namespace
}  // namespace weir
