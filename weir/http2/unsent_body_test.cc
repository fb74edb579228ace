#include "weir/http2/unsent_body.h"

#include <gtest/gtest.h>

#include <array>

namespace weir::http2 {
namespace {

std::string TakeBytes(UnsentBody& body, std::size_t length) {
  std::array<std::uint8_t, 64> buffer{};
  const std::size_t count = body.Take(buffer.data(), length);
  return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(count)};
}

TEST(UnsentBodyTest, BytesAreTakenInOrderAndOnce) {
  UnsentBody body;
  body.Append("one ");
  EXPECT_EQ(TakeBytes(body, 1), "o");
  body.Append("two");
  EXPECT_EQ(body.size(), 6U);
  EXPECT_EQ(TakeBytes(body, 4), "ne t");
  EXPECT_EQ(TakeBytes(body, 64), "wo");
  EXPECT_EQ(TakeBytes(body, 64), "");
  EXPECT_EQ(body.stored(), 0U);
}

// Fails if: a peer that never takes the last bytes makes the server keep all that were sent.
TEST(UnsentBodyTest, SentBytesAreFreedAlsoIfSomeAreAlwaysUnsent) {
  UnsentBody body;
  body.Append("abc");
  for (int i = 0; i < 1'000; ++i) {
    body.Append("0123456789");
    TakeBytes(body, 10);
    EXPECT_EQ(body.size(), 3U);
    ASSERT_LE(body.stored(), 6U) << i;
  }
}

}  // namespace
}  // namespace weir::http2
