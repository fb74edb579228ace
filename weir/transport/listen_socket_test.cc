#include "weir/transport/listen_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "weir/base/testing/temp_folder_fixture.h"
#include "weir/transport/testing/server_fixture.h"

namespace weir::transport {
namespace {

using testing::HasSubstr;

class ListenSocketTest : public ServerTestBase {
 protected:
  std::string file() const { return folder_ / "socket"; }
  std::string text() const { return "unix:" + file(); }

  TempFolder folder_;
};

TEST_F(ListenSocketTest, AServerListensOnASocketFileAndRemovesIt) {
  ServerOptions options;
  options.addresses = {text()};
  options.max_connections_per_peer = 1;  // does not apply to socket files
  Start(options);
  EXPECT_EQ(address(), text());
  const TestClient first(address()), second(address());
  first.Send("a");
  second.Send("b");
  EXPECT_EQ(first.Read(1) + second.Read(1), "ab");
  EXPECT_EQ(observed_.counts().last_peer, "unix");
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(ListenSocketTest, AFileOfAProcessThatEndedIsReplaced) {
  UniqueFd fd;
  {
    ListenSocket first = *ListenSocket::Open(text());
    fd = first.TakeFd();
    std::filesystem::rename(file(), file() + "2");
  }
  std::filesystem::rename(file() + "2", file());
  EXPECT_FALSE(ListenSocket::Open(text())) << "its process listens";
  fd = UniqueFd();
  EXPECT_TRUE(ListenSocket::Open(text()));
}

TEST_F(ListenSocketTest, AFileThatIsNoSocketStays) {
  std::ofstream(file()) << "data";
  const auto opened = ListenSocket::Open(text());
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr(file() + "': the file is not a socket"));
  EXPECT_EQ(std::filesystem::file_size(file()), 4U);
}

TEST_F(ListenSocketTest, TheFileOfASuccessorStays) {
  std::optional<ListenSocket> first = std::move(*ListenSocket::Open(text()));
  std::filesystem::remove(file());
  const auto second = ListenSocket::Open(text());
  first.reset();
  EXPECT_TRUE(std::filesystem::exists(file()));
}

TEST_F(ListenSocketTest, AServerListensOnAnInheritedSocket) {
  ListenSocket outside = *ListenSocket::Open("127.0.0.1:0");
  const std::string where = outside.text();
  const UniqueFd fd = outside.TakeFd();
  ServerOptions options;
  options.addresses = {"systemd:grpc"};
  options.inherited = {{.name = "admin", .fd = -1}, {.name = "grpc", .fd = fd.get()}};
  Start(options);
  EXPECT_EQ(address(), where);
  const TestClient client(where);
  client.Send("x");
  EXPECT_EQ(client.Read(1), "x");
}

TEST_F(ListenSocketTest, AnUnknownNameAndADescriptorThatDoesNotListenAreRefused) {
  std::vector<ListenSocket> sockets;
  const UniqueFd idle(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::vector<InheritedSocket> inherited = {{.name = "grpc", .fd = idle.get()}};
  EXPECT_THAT(OpenListenSockets("systemd:http", inherited, sockets).error().message,
              HasSubstr("there are: 'grpc'"));
  EXPECT_THAT(OpenListenSockets("systemd:grpc", inherited, sockets).error().message,
              HasSubstr("not a stream socket that listens"));
  EXPECT_TRUE(sockets.empty());
}

}  // namespace
}  // namespace weir::transport
