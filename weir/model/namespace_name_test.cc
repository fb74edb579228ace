#include "weir/model/namespace_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(NamespaceName, AnIdIsMarked) {
  EXPECT_EQ(ParseIdReference("id:default"), "default");
  EXPECT_EQ(ParseIdReference("id:"), "");
  EXPECT_EQ(ParseIdReference("default"), std::nullopt);
}

TEST(NamespaceName, NamesAndIdsAreAccepted) {
  for (const char* text : {"default", "team-a", "id:default", "id:Zx8_-aB3dE0", "id:-a"}) {
    EXPECT_TRUE(CheckNameOrId(text)) << text;
  }
}

TEST(NamespaceName, TheTablesOwnNamespaceAndOddTextsAreNot) {
  for (const char* text : {"", "_", "id:", "id:_", "id:a/b", "id:a b", "a/b", "id:\xC3\xA4"}) {
    const Status status = CheckNameOrId(text);
    ASSERT_FALSE(status) << text;
    EXPECT_EQ(status.error().code, Code::kInvalidArgument);
  }
  EXPECT_FALSE(CheckNamespaceId(std::string(65, 'a')));
}

// Python's secrets.token_urlsafe(8) writes the same bytes this way.
TEST(NamespaceName, IdsAreElevenCharactersOfUrlSafeBase64) {
  EXPECT_EQ(FormatNamespaceId(0), "AAAAAAAAAAA");
  EXPECT_EQ(FormatNamespaceId(UINT64_MAX), "__________8");
  EXPECT_EQ(FormatNamespaceId(0x0102030405060708), "AQIDBAUGBwg");
  EXPECT_EQ(FormatNamespaceId(0xF800000000000001)[0], '-');
}

}  // namespace
}  // namespace weir
