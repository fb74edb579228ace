#include "weir/transport/options_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(CheckServerOptions, TheFilesOfTlsAreRead) {
  const TlsOptions missing{.certificate_file = "/no/certificate", .key_file = "/no/key"};
  EXPECT_THAT(CheckErrorOf({.addresses = {"0.0.0.0:1"}, .tls = missing}),
              HasSubstr("/no/certificate"));
}

}  // namespace
}  // namespace weir::transport
