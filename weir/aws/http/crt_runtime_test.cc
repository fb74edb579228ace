#include "weir/aws/http/crt_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(CrtRuntimeTest, StartsAgainAfterTheLastOneIsGone) {
  for (int i = 0; i < 3; ++i) {
    const auto runtime = CrtRuntime::Start({});
    ASSERT_TRUE(runtime) << runtime.error().message;
    EXPECT_NE((*runtime)->loop(), nullptr);
  }
}

TEST(CrtRuntimeTest, OneGoesWhileAnotherStays) {
  auto first = CrtRuntime::Start({});
  const auto second = CrtRuntime::Start({});
  ASSERT_TRUE(first && second);
  first->reset();
  EXPECT_NE((*second)->loop(), nullptr);
  EXPECT_TRUE(CrtRuntime::Start({}));
}

TEST(CrtRuntimeTest, AFileOfAuthoritiesThatCannotBeReadIsRefusedByName) {
  const auto runtime = CrtRuntime::Start({.ca_file = "/nowhere/ca.pem"});
  ASSERT_FALSE(runtime);
  EXPECT_EQ(runtime.error().code, Code::kInvalidArgument);
  EXPECT_THAT(runtime.error().message, testing::HasSubstr("/nowhere/ca.pem"));
}

}  // namespace
}  // namespace weir
