#include "apps/weir/serve/serve_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::app {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string ErrorOfFile(std::string_view text) {
  const auto texts = ParseServeFile(text, "serve.yaml");
  return texts ? "" : texts.error().message;
}

TEST(ServeOptions, DefaultsListenOnLoopbackOnly) {
  const auto options = MakeServeOptions({});
  ASSERT_TRUE(options);
  EXPECT_THAT(options->grpc, ElementsAre("127.0.0.1:8081"));
  EXPECT_THAT(options->admin, ElementsAre("127.0.0.1:8082"));
  EXPECT_FALSE(options->allow_plaintext);
  EXPECT_EQ(options->drain_timeout, seconds(10));
}

TEST(ServeOptions, AFileHasTheSameNamesAsTheCommandLine) {
  const auto texts = ParseServeFile(
      "store: 'sqlite:/var/lib/weir.db'\n"
      "grpc: ['[::1]:8081', 'unix:/run/weir.sock']\n"
      "admin: off\n"
      "threads: 3\n"
      "allow-plaintext: true\n"
      "connection-age: 30min\n",
      "serve.yaml");
  ASSERT_TRUE(texts) << texts.error().message;
  const auto options = MakeServeOptions(*texts);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->store, "sqlite:/var/lib/weir.db");
  EXPECT_THAT(options->grpc, ElementsAre("[::1]:8081", "unix:/run/weir.sock"));
  EXPECT_THAT(options->admin, IsEmpty());
  EXPECT_EQ(options->threads, 3U);
  EXPECT_TRUE(options->allow_plaintext);
  EXPECT_EQ(options->connection_age, seconds(1'800));
}

TEST(ServeOptions, ErrorsOfAFileNameTheLineAndTheRemedy) {
  EXPECT_THAT(ErrorOfFile("\nrulez: x.yaml\n"),
              testing::AllOf(HasSubstr("serve.yaml:2"), HasSubstr("rules")));
  EXPECT_THAT(ErrorOfFile("threads: many\n"), HasSubstr("serve.yaml:1"));
  EXPECT_THAT(ErrorOfFile("allow-plaintext: 1\n"), HasSubstr("'1' is not true or false"));
  EXPECT_THAT(ErrorOfFile("grpc: {a: b}\n"), HasSubstr("grpc is a mapping"));
  EXPECT_THAT(ErrorOfFile("- x\n"), HasSubstr("the file is a list"));
  EXPECT_EQ(ErrorOfFile(""), "");
}

// Fails if: a template whose variable is not set makes a server that asks for no token.
TEST(ServeOptions, AnEmptyValueIsRefused) {
  for (const char* text : {"tokens: ''\n", "tls-client-ca: ''\n", "rules: ''\n", "store: ''\n",
                           "grpc: []\n", "grpc: ['']\n"}) {
    EXPECT_THAT(ErrorOfFile(text), testing::AllOf(HasSubstr("serve.yaml:1"), HasSubstr("is empty")))
        << text;
  }
}

TEST(ServeOptions, ErrorsOfTheCommandLineNameTheOption) {
  EXPECT_THAT(MakeServeOptions({{"threads", "-1"}}).error().message, HasSubstr("--threads: "));
  EXPECT_THAT(MakeServeOptions({{"drain-timeout", "0s"}}).error().message,
              HasSubstr("--drain-timeout: "));
}

TEST(ServeOptions, AFileIsNotStandardInput) {
  for (const char* name : {"rules", "limits", "tokens", "tls-key"}) {
    EXPECT_THAT(MakeServeOptions({{name, "-"}}).error().message, HasSubstr("is standard input"));
  }
  EXPECT_THAT(ErrorOfFile("\nrules: '-'\n"),
              testing::AllOf(HasSubstr("serve.yaml:2"), HasSubstr("is standard input")));
}

TEST(ServeOptions, ADeletionNeedsALimitsFile) {
  EXPECT_THAT(MakeServeOptions({{"limits-may-delete", "true"}}).error().message,
              HasSubstr("limits-may-delete needs limits"));
  EXPECT_TRUE(MakeServeOptions({{"limits-may-delete", "false"}}));
  EXPECT_TRUE(MakeServeOptions({{"limits-may-delete", "true"}, {"limits", "l.yaml"}}));
}

TEST(ServeOptions, ADefaultIsNoGivenNumberOfConnections) {
  EXPECT_FALSE(MakeServeOptions({})->is_max_connections_given);
  EXPECT_TRUE(MakeServeOptions({{"max-connections", "20000"}})->is_max_connections_given);
}

TEST(ServeOptions, AKeyNeedsItsCertificate) {
  EXPECT_FALSE(MakeServeOptions({{"tls-key", "k"}}));
  EXPECT_FALSE(MakeServeOptions({{"tls-client-ca", "c"}}));
  EXPECT_TRUE(MakeServeOptions({{"tls-key", "k"}, {"tls-certificate", "c"}}));
  EXPECT_FALSE(MakeServeOptions({{"admin-tls", "true"}}));
  EXPECT_TRUE(
      MakeServeOptions({{"admin-tls", "true"}, {"tls-key", "k"}, {"tls-certificate", "c"}}));
}

}  // namespace
}  // namespace weir::app
