#include "weir/codec/gunzip.h"

#include <gtest/gtest.h>

#include "weir/codec/testing/packed_fixture.h"

namespace weir {
namespace {

constexpr std::size_t kMost = 1'000'000;

TEST(Gunzip, ReturnsTheText) {
  for (const std::string& text : {std::string(), std::string("a\n"), std::string(100'000, 'x')}) {
    EXPECT_EQ(Gunzip(Packed(text), kMost).value_or("?"), text);
  }
}

TEST(Gunzip, ReturnsTheTextOfAllMembers) {
  EXPECT_EQ(Gunzip(Packed("a\n") + Packed("") + Packed("b\n"), kMost).value_or("?"), "a\nb\n");
}

// Fails if: a text that was cut off, or has other bytes, is taken for the whole one.
TEST(Gunzip, ADamagedTextIsRefused) {
  const std::string packed = Packed("some text that is long enough");
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const auto cut = Gunzip(packed.substr(0, size), kMost);
    ASSERT_FALSE(cut) << size;
    EXPECT_EQ(cut.error().code, Code::kDataLoss);
  }
  std::string changed = packed;
  changed[packed.size() - 6] ^= 1;  // in the checksum
  EXPECT_FALSE(Gunzip(changed, kMost));
  EXPECT_FALSE(Gunzip(packed + "rest", kMost));
  EXPECT_FALSE(Gunzip("{\"event_id\":1}", kMost));
}

// Fails if: memory is filled before the size is compared.
TEST(Gunzip, AnObjectThatUnpacksToTooMuchIsRefused) {
  const std::string bomb = Packed(std::string(50'000'000, '\0'));
  EXPECT_LT(bomb.size(), 300'000U);
  const auto refused = Gunzip(bomb, kMost);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kOutOfRange);
  EXPECT_EQ(refused.error().message, "it has more than 1000000 bytes when unpacked");
  EXPECT_TRUE(Gunzip(Packed(std::string(kMost, 'x')), kMost));
  EXPECT_FALSE(Gunzip(Packed(std::string(kMost + 1, 'x')), kMost));
}

}  // namespace
}  // namespace weir
