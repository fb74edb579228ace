#include "weir/transport/options_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace weir::transport {
namespace {

using testing::HasSubstr;

std::string CheckErrorOf(const ServerOptions& options) {
  const Status status = CheckServerOptions(options);
  return status ? "" : status.error().message;
}

TEST(CheckServerOptions, AddressesHaveTheirFormAndArePlainOnThisMachineOnly) {
  EXPECT_EQ(CheckErrorOf({.addresses = {"127.0.0.1:0", "unix:x.sock", "systemd:grpc"}}), "");
  EXPECT_THAT(CheckErrorOf({.addresses = {"nonsense"}}), HasSubstr("'nonsense'"));
  EXPECT_THAT(CheckErrorOf({.addresses = {"0.0.0.0:99999"}}), HasSubstr("'0.0.0.0:99999'"));
  EXPECT_THAT(CheckErrorOf({.addresses = {"0.0.0.0:1"}}), HasSubstr("set allow-plaintext"));
  EXPECT_EQ(CheckErrorOf({.addresses = {"0.0.0.0:1"}, .allow_plaintext = true}), "");
}

TEST(CheckDistinct, TwoTextsOfOneAddressAreRefused) {
  EXPECT_TRUE(CheckDistinct({"127.0.0.1:1", "127.0.0.1:2", "[::1]:1", "unix:a", "unix:b"}));
  EXPECT_TRUE(CheckDistinct({"127.0.0.1:0", "127.0.0.1:0"})) << "two ports";
  const std::pair<const char*, const char*> same[] = {{"127.0.0.1:1", "127.0.0.1:1"},
                                                      {"127.0.0.1:1", "[::ffff:127.0.0.1]:1"},
                                                      {"unix:a", "unix:a"},
                                                      {"systemd:a", "systemd:a"}};
  for (const auto& [one, other] : same) {
    const Status refused = CheckDistinct({one, "unix:c", other});
    ASSERT_FALSE(refused) << one;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_THAT(refused.error().message,
                testing::AllOf(HasSubstr(one), HasSubstr(other), HasSubstr("the same as")));
  }
}

TEST(CheckServerOptions, TheFilesOfTlsAreRead) {
  const TlsOptions missing{.certificate_file = "/no/certificate", .key_file = "/no/key"};
  EXPECT_THAT(CheckErrorOf({.addresses = {"0.0.0.0:1"}, .tls = missing}),
              HasSubstr("cannot read certificate file '/no/certificate': No such file"));
}

}  // namespace
}  // namespace weir::transport
