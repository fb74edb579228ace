#include "weir/kinesis/wire/hash_key.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <rapidcheck/gtest.h>

#include <thread>

namespace weir::kinesis {
namespace {

// "abcd" is a vector of the Kinesis Producer Library's tests; the others were computed with
// Python's hashlib.
TEST(HashKey, IsTheMd5OfThePartitionKey) {
  const std::pair<std::string_view, std::string_view> vectors[] = {
      {"abcd", "301716283811389038011477436469853762335"},
      {"user-123", "250018372642977770877286195909578633128"},
      {"a", "16955237001963240173058271559858726497"},
      {"", "281949768489412648962353822266799178366"},
      {"alpha", "58606826522850340945736240254012750329"},
      {"pk", "38317986088707300215492326132921849533"},
  };
  for (const auto& [key, decimal] : vectors) {
    EXPECT_EQ(FormatHashKey(HashOfPartitionKey(key)), decimal) << key;
  }
}

// Fails if: the process aborts with an OpenSSL that is restricted to FIPS 140 by default.
TEST(HashKey, K15IsTheSameWhereOpenSslIsRestrictedToFips) {
  ASSERT_EQ(EVP_default_properties_enable_fips(nullptr, 1), 1);
  std::string hash;
  std::jthread([&hash] { hash = FormatHashKey(HashOfPartitionKey("a")); }).join();
  ASSERT_EQ(EVP_default_properties_enable_fips(nullptr, 0), 1);
  EXPECT_EQ(hash, "16955237001963240173058271559858726497");
}

TEST(HashKey, ReadsWhatTheServiceTakes) {
  EXPECT_EQ(ParseHashKey("0"), HashKey(0));
  EXPECT_EQ(ParseHashKey("123456789"), HashKey(123456789));
  EXPECT_EQ(ParseHashKey("007"), HashKey(7));
  EXPECT_EQ(ParseHashKey("340282366920938463463374607431768211455"),
            std::numeric_limits<HashKey>::max());
}

TEST(HashKey, RefusesWhatIsNone) {
  for (const std::string_view text :
       {"", "-1", "+1", " 1", "1 ", "0x1", "1e3", "340282366920938463463374607431768211456",
        "3402823669209384634633746074317682114550", "99999999999999999999999999999999999999999"}) {
    const auto key = ParseHashKey(text);
    ASSERT_FALSE(key) << text;
    EXPECT_EQ(key.error().code, Code::kInvalidArgument);
    EXPECT_NE(key.error().message.find("2^128 - 1"), std::string::npos);
  }
}

TEST(HashKey, IsWrittenWithEachOfItsZeros) {
  constexpr std::string_view kMost = "340282366920938463463374607431768211455";
  for (const std::string_view decimal :
       {std::string_view("0"), std::string_view("9999999999999999999"),
        std::string_view("10000000000000000000"), std::string_view("10000000000000000001"),
        std::string_view("100000000000000000000000000000000000000"),
        std::string_view("100000000000000000010000000000000000007"), kMost}) {
    const auto key = ParseHashKey(decimal);
    ASSERT_TRUE(key) << decimal;
    EXPECT_EQ(FormatHashKey(*key), decimal);
  }
}

// Fails if: a carry between the two halves is lost.
RC_GTEST_PROP(HashKey, SurvivesItsText, (std::uint64_t high, std::uint64_t low)) {
  const HashKey key = absl::MakeUint128(high, low);
  RC_ASSERT(ParseHashKey(FormatHashKey(key)) == key);
}

TEST(HashRange, IncludesBothEnds) {
  const HashRange range{10, 20};
  EXPECT_FALSE(range.Contains(9));
  EXPECT_TRUE(range.Contains(10));
  EXPECT_TRUE(range.Contains(20));
  EXPECT_FALSE(range.Contains(21));
  EXPECT_TRUE(HashRange().Contains(std::numeric_limits<HashKey>::max()));
}

}  // namespace
}  // namespace weir::kinesis
