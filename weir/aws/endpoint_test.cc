#include "weir/aws/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Endpoint Parsed(std::string_view url) {
  const Result<Endpoint> endpoint = ParseEndpoint(url);
  EXPECT_TRUE(endpoint) << url << ": " << (endpoint ? "" : endpoint.error().message);
  return endpoint.value_or(Endpoint());
}

TEST(ParseEndpoint, ReadsSchemeHostPortAndPath) {
  EXPECT_EQ(Parsed("https://dynamodb.eu-west-1.amazonaws.com"),
            (Endpoint{true, "dynamodb.eu-west-1.amazonaws.com", 443, "/"}));
  EXPECT_EQ(Parsed("http://localhost:8000"), (Endpoint{false, "localhost", 8000, "/"}));
  EXPECT_EQ(Parsed("http://10.0.0.1"), (Endpoint{false, "10.0.0.1", 80, "/"}));
  EXPECT_EQ(Parsed("https://h:65535/a/b%20c/"), (Endpoint{true, "h", 65535, "/a/b%20c/"}));
  EXPECT_EQ(Parsed("http://[::1]:4566/x"), (Endpoint{false, "::1", 4566, "/x"}));
  EXPECT_EQ(Parsed("http://[fd00::7]"), (Endpoint{false, "fd00::7", 80, "/"}));
}

TEST(ParseEndpoint, RefusesWhatItDoesNotUnderstand) {
  for (const char* url : {"",
                          "localhost:8000",
                          "ftp://h",
                          "https://",
                          "https://:8000",
                          "http://h:",
                          "http://h:0",
                          "http://h:65536",
                          "http://h:80000000000",
                          "http://h:8o",
                          "http://h:80:90",
                          "http://h?x=1",
                          "http://h/#f",
                          "http://h/a b",
                          "http://h h",
                          "http://[::1",
                          "http://[]",
                          "http://[::1]8000",
                          "http://::1",
                          "http://h\n",
                          "http://h/\x7f",
                          "http://\xc3\xa9"}) {
    const Result<Endpoint> endpoint = ParseEndpoint(url);
    ASSERT_FALSE(endpoint) << url;
    EXPECT_EQ(endpoint.error().code, Code::kInvalidArgument);
    EXPECT_THAT(endpoint.error().message, HasSubstr("expected http(s)://host"));
  }
}

TEST(ParseEndpoint, APasswordIsRefusedAndNotRepeated) {
  const Result<Endpoint> endpoint = ParseEndpoint("http://user:hunter2@h");
  ASSERT_FALSE(endpoint);
  EXPECT_THAT(endpoint.error().message, HasSubstr("it contains a user name"));
  EXPECT_THAT(endpoint.error().message, Not(HasSubstr("hunter2")));
}

TEST(HostHeader, HasThePortUnlessItIsTheSchemes) {
  EXPECT_EQ(HostHeader(Parsed("https://h:443")), "h");
  EXPECT_EQ(HostHeader(Parsed("http://h")), "h");
  EXPECT_EQ(HostHeader(Parsed("http://h:443")), "h:443");
  EXPECT_EQ(HostHeader(Parsed("https://h:80")), "h:80");
  EXPECT_EQ(HostHeader(Parsed("http://[::1]:4566")), "[::1]:4566");
}

// Fails if: HostHeader forgets the brackets, or the port of the other scheme.
RC_GTEST_PROP(EndpointProperty, WhatIsWrittenReadsBack, ()) {
  const Endpoint endpoint = {
      .tls = *rc::gen::arbitrary<bool>(),
      .host = *rc::gen::element<std::string>("h", "a-b.example.com", "10.1.2.3", "::1", "fe80::1"),
      .port = *rc::gen::element<std::uint16_t>(1, 80, 443, 8000, 65535),
      .path = *rc::gen::element<std::string>("/", "/a", "/a/b%2Fc/")};
  const std::string scheme = endpoint.tls ? "https://" : "http://";
  RC_ASSERT(ParseEndpoint(scheme + HostHeader(endpoint) + endpoint.path) == endpoint);
}

// Fails if: the text is repeated unchanged, or a host has characters that are not allowed.
RC_GTEST_PROP(EndpointProperty, AnyTextIsReadOrRefusedInOneLine, (const std::string& text)) {
  for (const std::string& url : {text, "http://" + text, "http://h:" + text, "https://h/" + text}) {
    const Result<Endpoint> endpoint = ParseEndpoint(url);
    if (endpoint) {
      const std::string scheme = endpoint->tls ? "https://" : "http://";
      RC_ASSERT(ParseEndpoint(scheme + HostHeader(*endpoint) + endpoint->path) == *endpoint);
      continue;
    }
    for (const char c : endpoint.error().message) RC_ASSERT(c >= ' ' && c <= '~');
  }
}

}  // namespace
}  // namespace weir
