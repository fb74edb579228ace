#include "weir/base/integer_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>

namespace weir {
namespace {

TEST(IntegerText, IsTheWholeTextOrNothing) {
  EXPECT_EQ(ReadInteger<std::int64_t>("-12"), -12);
  EXPECT_EQ(ReadInteger<std::int64_t>("007"), 7);
  EXPECT_EQ(ReadInteger<std::uint32_t>("4294967295"), 4294967295U);
  for (const char* text : {"", "-", "+1", " 1", "1 ", "1.0", "0x1", "1e3", "9223372036854775808"}) {
    EXPECT_EQ(ReadInteger<std::int64_t>(text), std::nullopt) << text;
  }
  EXPECT_EQ(ReadInteger<std::uint32_t>("4294967296"), std::nullopt);
  EXPECT_EQ(ReadInteger<std::uint32_t>("-1"), std::nullopt);
}

// Fails if: a part of the text, or of the range, is ignored.
RC_GTEST_PROP(IntegerTextProperty, ReadsBackWhatIsWritten, (std::int64_t number)) {
  RC_ASSERT(ReadInteger<std::int64_t>(std::to_string(number)) == number);
}

}  // namespace
}  // namespace weir
