#include "weir/kinesis/wire/json_writer.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace weir::kinesis {
namespace {

std::string Base64(std::string_view bytes) {
  return WriteSized([bytes](auto& sink) {
    JsonWriter out(sink);
    out.Bytes(bytes);
  });
}

// RFC 4648, section 10.
TEST(JsonWriter, WritesBytesAsTheVectorsOfBase64) {
  EXPECT_EQ(Base64(""), R"("")");
  EXPECT_EQ(Base64("f"), R"("Zg==")");
  EXPECT_EQ(Base64("fo"), R"("Zm8=")");
  EXPECT_EQ(Base64("foo"), R"("Zm9v")");
  EXPECT_EQ(Base64("foob"), R"("Zm9vYg==")");
  EXPECT_EQ(Base64("fooba"), R"("Zm9vYmE=")");
  EXPECT_EQ(Base64("foobar"), R"("Zm9vYmFy")");
}

// Compares with another library. Fails if: the reserved size differs from the written size.
RC_GTEST_PROP(JsonWriterProperty, WritesBytesAsAnotherLibrary, (const std::string& bytes)) {
  std::string letters(bytes.size() * 2 + 4, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(letters.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  letters.resize(static_cast<std::size_t>(size));
  RC_ASSERT(Base64(bytes) == '"' + letters + '"');
}

}  // namespace
}  // namespace weir::kinesis
