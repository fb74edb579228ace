#include "weir/aws/credentials/crt_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>

#include "weir/aws/testing/loopback_server_fixture.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Every environment variable that the search reads. A test begins with none of them set.
constexpr const char* kVariables[] = {
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_ROLE_ARN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
};

class CrtCredentialsTest : public testing::Test {
 protected:
  CrtCredentialsTest() {
    for (const char* const name : kVariables) unsetenv(name);
    std::filesystem::create_directories(folder_);
    Set("AWS_CONFIG_FILE", (folder_ / "config").string());
    Set("AWS_SHARED_CREDENTIALS_FILE", (folder_ / "credentials").string());
    Set("AWS_EC2_METADATA_DISABLED", "true");
    Set("HOME", folder_.string());
  }
  ~CrtCredentialsTest() override { std::filesystem::remove_all(folder_); }

  static void Set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }
  void Write(const char* file, const std::string& text) { std::ofstream(folder_ / file) << text; }

  Result<Credentials> Find(const std::string& profile = "",
                           nanoseconds wait = std::chrono::seconds(30)) {
    const auto provider = MakeCrtCredentials(*runtime_, clock_, {.profile = profile});
    std::promise<Result<Credentials>> promise;
    std::future<Result<Credentials>> response = promise.get_future();
    provider->Get(Deadline::After(clock_, wait),
                  [promise = std::move(promise)](Result<Credentials> result) mutable {
                    promise.set_value(std::move(result));
                  });
    return response.get();
  }

  const std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                        ("weir_credentials_test." + std::to_string(getpid()));
  static void SetUpTestSuite() { runtime_ = *CrtRuntime::Start({}); }
  static void TearDownTestSuite() { runtime_.reset(); }

  static inline std::unique_ptr<CrtRuntime> runtime_;
  SystemClock clock_;
};

TEST_F(CrtCredentialsTest, TheEnvironmentComesFirst) {
  Write("credentials", "[default]\naws_access_key_id=FILE\naws_secret_access_key=s\n");
  Set("AWS_ACCESS_KEY_ID", "ENV");
  Set("AWS_SECRET_ACCESS_KEY", "secret");
  Set("AWS_SESSION_TOKEN", "token");
  const auto found = Find();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->access_key_id, "ENV");
  EXPECT_EQ(found->secret_access_key, "secret");
  EXPECT_EQ(found->session_token, "token");
  EXPECT_FALSE(found->expires);
}

TEST_F(CrtCredentialsTest, AProfileThatIsNamedComesBeforeTheEnvironment) {
  Write("credentials", "[batch]\naws_access_key_id=FILE\naws_secret_access_key=s\n");
  Set("AWS_ACCESS_KEY_ID", "ENV");
  Set("AWS_SECRET_ACCESS_KEY", "secret");
  const auto found = Find("batch");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->access_key_id, "FILE");
}

TEST_F(CrtCredentialsTest, TheProfileMayBeNamedByTheEnvironmentAndItsFileChange) {
  Set("AWS_PROFILE", "batch");
  Write("credentials", "[batch]\naws_access_key_id=OLD\naws_secret_access_key=s\n");
  EXPECT_EQ(Find()->access_key_id, "OLD");
  Write("credentials", "[batch]\naws_access_key_id=NEW\naws_secret_access_key=s\n");
  EXPECT_EQ(Find()->access_key_id, "NEW");
}

TEST_F(CrtCredentialsTest, AProcessIsRunAndItsExpiryRead) {
  Write("process.sh",
        "echo '{\"Version\":1,\"AccessKeyId\":\"PROC\",\"SecretAccessKey\":\"s\","
        "\"SessionToken\":\"t\",\"Expiration\":\"2099-01-01T00:00:00Z\"}'\n");
  Write("config", "[default]\ncredential_process = sh " + (folder_ / "process.sh").string() + "\n");
  const auto found = Find();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->access_key_id, "PROC");
  EXPECT_EQ(found->expires, UnixMillis{4'070'908'800'000});
}

TEST_F(CrtCredentialsTest, APlaceThatIsSetUpButFailsEndsTheSearch) {
  LoopbackServer server([](const SeenRequest&) { return ScriptedReply{.bytes = Ok("{}")}; });
  Set("AWS_CONTAINER_CREDENTIALS_FULL_URI",
      "http://127.0.0.1:" + std::to_string(server.port()) + "/get");
  Write("config", "[default]\ncredential_process = sh -c 'exit 3'\n");
  const auto found = Find();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kUnauthenticated);
  EXPECT_THAT(found.error().message, HasSubstr("profile: "));
  EXPECT_TRUE(server.seen().empty()) << "the container's role is somebody else";
}

TEST_F(CrtCredentialsTest, TheContainerIsAskedWithItsToken) {
  LoopbackServer server([](const SeenRequest&) {
    return ScriptedReply{.bytes = Ok(R"({"AccessKeyId":"BOX","SecretAccessKey":"s","Token":"t",)"
                                     R"("Expiration":"2099-01-01T00:00:00Z"})")};
  });
  Set("AWS_CONTAINER_CREDENTIALS_FULL_URI",
      "http://127.0.0.1:" + std::to_string(server.port()) + "/get?x=1");
  Set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic abc");
  const auto found = Find();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->access_key_id, "BOX");
  EXPECT_EQ(found->session_token, "t");
  EXPECT_TRUE(found->expires);
  EXPECT_THAT(server.seen().at(0).head, AllOf(HasSubstr("GET /get?x=1"), HasSubstr("Basic abc")));
}

TEST_F(CrtCredentialsTest, TheInstanceIsAskedWithASessionToken) {
  LoopbackServer server([](const SeenRequest& request) {
    if (request.head.starts_with("PUT /latest/api/token")) {
      return ScriptedReply{.bytes = Ok("imds-token")};
    }
    const bool role = request.head.find("security-credentials/worker") != std::string::npos;
    if (!role) return ScriptedReply{.bytes = Ok("worker")};
    return ScriptedReply{
        .bytes = Ok(R"({"Code":"Success","AccessKeyId":"HOST","SecretAccessKey":"s","Token":"t",)"
                    R"("Expiration":"2099-01-01T00:00:00Z"})")};
  });
  Set("AWS_EC2_METADATA_DISABLED", "false");
  Set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:" + std::to_string(server.port()));
  const auto found = Find();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->access_key_id, "HOST");
  EXPECT_THAT(server.seen().back().head, HasSubstr("imds-token"));
}

TEST_F(CrtCredentialsTest, WhereNothingIsSetUpTheErrorNamesEachPlaceOnOneLine) {
  const auto found = Find();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kUnauthenticated);
  for (const char* const place :
       {"environment", "profile", "SSO", "web identity", "container", "instance metadata"}) {
    EXPECT_THAT(found.error().message, HasSubstr(place));
  }
  EXPECT_THAT(found.error().message, Not(HasSubstr("\n")));
}

TEST_F(CrtCredentialsTest, AProfileThatIsMissingIsNamed) {
  const auto found = Find("absent");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("'absent'"));
}

TEST_F(CrtCredentialsTest, ASilentPlaceIsWaitedForUntilTheDeadline) {
  LoopbackServer server([](const SeenRequest&) { return ScriptedReply{}; });
  Set("AWS_CONTAINER_CREDENTIALS_FULL_URI",
      "http://127.0.0.1:" + std::to_string(server.port()) + "/get");
  const auto found = Find("", milliseconds(40));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(found.error().message, HasSubstr("container: no response in time"));
}

TEST_F(CrtCredentialsTest, EverybodyWhoAskedIsAnsweredWhenItIsDestroyed) {
  Set("AWS_ACCESS_KEY_ID", "ENV");
  Set("AWS_SECRET_ACCESS_KEY", "secret");
  std::atomic<int> responses = 0;
  {
    const auto provider = MakeCrtCredentials(*runtime_, clock_, {});
    for (int i = 0; i < 20; ++i) {
      provider->Get(Deadline::Never(), [&responses](Result<Credentials>) { ++responses; });
    }
  }
  EXPECT_EQ(responses, 20);
}

}  // namespace
}  // namespace weir
