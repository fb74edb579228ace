#include "weir/transport/socket_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::transport {
namespace {

SocketAddress Parsed(const std::string& text) {
  const auto parsed = ParseListenAddress(text);
  EXPECT_TRUE(parsed) << text;
  return *parsed;
}

TEST(SocketAddress, IsParsedAndWrittenBack) {
  for (const std::string text : {"127.0.0.1:8081", "0.0.0.0:0", "[::1]:65535", "[::]:80"}) {
    EXPECT_EQ(TextOf(Parsed(text)), text);
  }
  EXPECT_EQ(TextOf(Parsed("[::ffff:10.0.0.1]:5")), "10.0.0.1:5");
  EXPECT_EQ(TextOf(Parsed("unix:/run/weir.sock")), "unix");
  EXPECT_EQ(TextOf(Parsed("localhost:8081")), "127.0.0.1:8081");
}

TEST(SocketAddress, AnyOtherTextIsRefusedAndNamed) {
  for (const std::string text :
       {"", ":", "8081", ":8081", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
        "127.0.0.1:-1", "::1:80", "[::1]", "[127.0.0.1]:80", "[::1:80", "unix:", "127.0.0.1:80 "}) {
    const auto parsed = ParseListenAddress(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::kInvalidArgument);
    EXPECT_THAT(parsed.error().message, testing::HasSubstr(text));
  }
  EXPECT_FALSE(ParseListenAddress("unix:" + std::string(200, 'a')));
}

TEST(SocketAddress, OnlyLoopbackAndSocketFilesAreLocal) {
  for (const char* text :
       {"127.0.0.1:1", "127.255.0.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "unix:a"}) {
    EXPECT_TRUE(IsLocal(Parsed(text))) << text;
  }
  for (const char* text :
       {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "128.0.0.1:1", "[fe80::1]:1", "[::ffff:0.0.0.0]:1"}) {
    EXPECT_FALSE(IsLocal(Parsed(text))) << text;
  }
}

TEST(SocketAddress, APeerIsAnIpv4AddressOrAnIpv6Network) {
  EXPECT_EQ(PeerKey(Parsed("10.0.0.1:1")), PeerKey(Parsed("10.0.0.1:2")));
  EXPECT_NE(PeerKey(Parsed("10.0.0.1:1")), PeerKey(Parsed("10.0.0.2:1")));
  EXPECT_EQ(PeerKey(Parsed("10.0.0.1:1")), PeerKey(Parsed("[::ffff:10.0.0.1]:1")));
  EXPECT_EQ(PeerKey(Parsed("[2001:db8:1:2:3::4]:1")), PeerKey(Parsed("[2001:db8:1:2::]:1")));
  EXPECT_NE(PeerKey(Parsed("[2001:db8:1:2::]:1")), PeerKey(Parsed("[2001:db8:1:3::]:1")));
  EXPECT_EQ(PeerKey(Parsed("unix:a")), "");
}

}  // namespace
}  // namespace weir::transport
