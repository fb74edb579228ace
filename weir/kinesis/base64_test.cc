#include "weir/kinesis/base64.h"

#include <absl/strings/escaping.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace weir::kinesis {
namespace {

std::string Base64(std::string_view bytes) {
  std::string letters(Base64Size(bytes.size()) + 1, '#');
  WriteBase64(letters.data(), bytes);
  EXPECT_EQ(letters.back(), '#') << "one letter too many";
  letters.pop_back();
  return letters;
}

// RFC 4648, section 10.
TEST(Base64, WritesTheVectorsOfItsRfc) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foob"), "Zm9vYg==");
  EXPECT_EQ(Base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
}

// Against another library. Fails if: SixBytes keeps the byte order of a little-endian machine.
RC_GTEST_PROP(Base64Property, IsWhatAnotherWrites, (const std::string& bytes)) {
  RC_ASSERT(Base64(bytes) == absl::Base64Escape({bytes.data(), bytes.size()}));
}

}  // namespace
}  // namespace weir::kinesis
