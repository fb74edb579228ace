#include "weir/kinesis/callback_scope.h"

#include <gtest/gtest.h>

namespace weir::kinesis {
namespace {

TEST(KinesisCallbackScope, IsThatOfEachRunnerWhoseCallbackTheThreadIsIn) {
  const int scheduler = 0;
  const int executor = 0;
  EXPECT_FALSE(CallbackScope::IsIn(&scheduler));
  {
    const CallbackScope outer(&scheduler);
    const CallbackScope inner(&executor);
    EXPECT_TRUE(CallbackScope::IsIn(&executor));
    EXPECT_TRUE(CallbackScope::IsIn(&scheduler)) << "its other tasks wait for the inner callback";
    EXPECT_FALSE(CallbackScope::IsIn(nullptr));
  }
  EXPECT_FALSE(CallbackScope::IsIn(&scheduler));
}

}  // namespace
}  // namespace weir::kinesis
