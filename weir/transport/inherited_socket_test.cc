#include "weir/transport/inherited_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace weir::transport {
namespace {

using testing::HasSubstr;

class InheritedSocketTest : public testing::Test {
 protected:
  Result<std::vector<InheritedSocket>> Read(int pid = 7) {
    return InheritedSockets(
        [this](const char* name) {
          const auto found = environment_.find(name);
          return found == environment_.end() ? nullptr : found->second.c_str();
        },
        pid);
  }

  std::map<std::string, std::string> environment_;
};

TEST_F(InheritedSocketTest, WithoutVariablesThereAreNone) { EXPECT_TRUE(Read()->empty()); }

TEST_F(InheritedSocketTest, VariablesOfAnotherProcessAreIgnored) {
  environment_ = {{"LISTEN_PID", "8"}, {"LISTEN_FDS", "nonsense"}};
  EXPECT_TRUE(Read()->empty());
}

TEST_F(InheritedSocketTest, NoDescriptorIsNone) {
  environment_ = {{"LISTEN_PID", "7"}, {"LISTEN_FDS", "0"}};
  EXPECT_TRUE(Read()->empty());
}

TEST_F(InheritedSocketTest, MalformedNumbersAreRefused) {
  for (const char* count : {"", "x", "-1", "1x", "100000"}) {
    environment_ = {{"LISTEN_PID", "7"}, {"LISTEN_FDS", count}};
    EXPECT_EQ(Read().error().code, Code::kInvalidArgument) << count;
  }
  environment_ = {{"LISTEN_PID", "7"}, {"LISTEN_FDS", "1000"}};
  EXPECT_THAT(Read().error().message, HasSubstr("is not open"));
}

}  // namespace
}  // namespace weir::transport
