#include "weir/aws/json_response.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(JsonResponse, AnAnswerIsNamedByItsCall) {
  const Status read = ReadResponse("GetItem", "[]", [](std::string_view, JsonValue) {});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message.substr(0, 29), "response to GetItem: byte 0: ");
}

}  // namespace
}  // namespace weir
