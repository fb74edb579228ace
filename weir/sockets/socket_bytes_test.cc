#include "weir/sockets/socket_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace weir::sockets {
namespace {

using State = SocketBytes::State;

/// Two connected sockets: `bytes_` moves the bytes of the first, and the second is the peer's.
class SocketBytesTest : public testing::Test {
 protected:
  SocketBytesTest() : fds_(MakePair()), bytes_(fds_[0], "server") {}
  ~SocketBytesTest() override {
    close(fds_[0]);
    ClosePeer();
  }

  void ClosePeer() {
    if (fds_[1] >= 0) close(fds_[1]);
    fds_[1] = -1;
  }
  void SendFromPeer(std::string_view text) const {
    ASSERT_EQ(send(fds_[1], text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }

  std::array<int, 2> fds_;
  SocketBytes bytes_;
  std::array<char, 8> buffer_{};

 private:
  static std::array<int, 2> MakePair() {
    std::array<int, 2> fds{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()), 0);
    return fds;
  }
};

TEST_F(SocketBytesTest, AReadReturnsWhatHasArrived) {
  EXPECT_EQ(bytes_.Read(buffer_).state, State::kBlocked);
  SendFromPeer("one");
  const auto [state, count] = bytes_.Read(buffer_);
  EXPECT_EQ(state, State::kOk);
  EXPECT_EQ(std::string_view(buffer_.data(), count), "one");
  EXPECT_EQ(bytes_.Read(buffer_).state, State::kBlocked);
}

TEST_F(SocketBytesTest, AnEndNamesThePeer) {
  ClosePeer();
  EXPECT_EQ(bytes_.Read(buffer_).state, State::kEnded);
  EXPECT_EQ(bytes_.why(), "the server closed the connection");
}

TEST_F(SocketBytesTest, AWriteStopsWhenTheSystemIsFullAndCountsWhatItAccepted) {
  const std::string text(64 * 1024, 'x');
  std::uint64_t written = 0;
  for (SocketBytes::Moved moved; (moved = bytes_.Write(text)).state != State::kBlocked;) {
    ASSERT_EQ(moved.state, State::kOk);
    written += moved.bytes;
  }
  EXPECT_GT(written, 0U);
  EXPECT_EQ(bytes_.sent(), written);
}

TEST_F(SocketBytesTest, AWriteToAClosedPeerFailsWithoutASignal) {
  ClosePeer();
  EXPECT_EQ(bytes_.Write("text").state, State::kFailed);
  EXPECT_EQ(bytes_.why(), "Broken pipe");
  EXPECT_EQ(bytes_.sent(), 0U);
}

/// The peer speaks no TLS: the handshake fails, with the cause that OpenSSL reports.
TEST_F(SocketBytesTest, AHandshakeWithAPeerThatSpeaksNoTlsFails) {
  const TlsContext context(SSL_CTX_new(TLS_client_method()));
  TlsState tls(SSL_new(context.get()));
  SSL_set_connect_state(tls.get());
  bytes_.BeginTls(std::move(tls));
  EXPECT_EQ(bytes_.Handshake(), State::kBlocked);
  EXPECT_GT(bytes_.sent(), 0U) << "the first message of the handshake";
  SendFromPeer("HTTP/1.1 400 Bad Request\r\n\r\n");
  EXPECT_EQ(bytes_.Handshake(), State::kFailed);
  EXPECT_THAT(bytes_.why(), testing::HasSubstr("wrong version number"));
}

TEST_F(SocketBytesTest, AnEndInAHandshakeIsItsFailure) {
  const TlsContext context(SSL_CTX_new(TLS_client_method()));
  TlsState tls(SSL_new(context.get()));
  SSL_set_connect_state(tls.get());
  bytes_.BeginTls(std::move(tls));
  ClosePeer();
  EXPECT_EQ(bytes_.Handshake(), State::kFailed);
  EXPECT_EQ(bytes_.why(), "Broken pipe");
}

}  // namespace
}  // namespace weir::sockets
