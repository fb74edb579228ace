// TLS from the client's point of view.
#include "weir/aws/http/byte_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <fstream>
#include <latch>
#include <string>

#include "weir/aws/http/tls_context.h"
#include "weir/aws/testing/faulty_sockets_fixture.h"
#include "weir/aws/testing/tls_server_fixture.h"
#include "weir/base/testing/temp_folder_fixture.h"

namespace weir::internal {
namespace {

using StreamState = ByteStream::State;
using testing::HasSubstr;

class TlsStreamTest : public testing::Test {
 protected:
  /// Connects to `server`, expects it to be `host`, and continues the handshake until it ends.
  StreamState Shake(const SelfSignedServer& server, const std::string& host) {
    const std::string file = folder_ / "authority.pem";
    std::ofstream(file) << server.certificate();
    context_ = *MakeTlsContext({.ca_file = file});
    stream_ = *ByteStream::Connect(*ParseAddress("127.0.0.1", server.port()));
    while (stream_->FinishConnect() == StreamState::kBlocked) WaitFor(POLLOUT);
    EXPECT_TRUE(stream_->BeginTls(*context_, host));
    StreamState state = stream_->Handshake();
    for (; state == StreamState::kBlocked; state = stream_->Handshake()) WaitFor(POLLIN);
    return state;
  }
  void WaitFor(short events) const {
    pollfd watched{.fd = stream_->descriptor(), .events = events, .revents = 0};
    poll(&watched, 1, -1);
  }
  StreamState Read() {
    std::array<char, 16 * 1024> buffer{};
    for (;;) {
      const auto [state, bytes] = stream_->Read(buffer);
      if (state != StreamState::kBlocked) return state;
      WaitFor(POLLIN);
    }
  }

  TempFolder folder_;
  sockets::TlsContext context_;
  std::unique_ptr<ByteStream> stream_;
};

TEST_F(TlsStreamTest, TheCertificateMustNameTheHost) {
  struct Case {
    const char* names;
    const char* host;
    bool accepted;
  };
  for (const auto& [names, host, accepted] :
       {Case{"DNS:a.example.com", "a.example.com", true},
        Case{"DNS:a.example.com", "b.example.com", false},
        Case{"DNS:*.example.com", "a.example.com", true},
        Case{"DNS:*.example.com", "a.b.example.com", false},
        Case{"DNS:a*.example.com", "ab.example.com", false},
        Case{"IP:127.0.0.1", "127.0.0.1", true}, Case{"IP:127.0.0.2", "127.0.0.1", false},
        Case{"DNS:127.0.0.1", "127.0.0.1", false}}) {
    const SelfSignedServer server(&SelfSignedServer::RespondOk, names);
    EXPECT_EQ(Shake(server, host), accepted ? StreamState::kOk : StreamState::kFailed)
        << names << ", " << host;
    EXPECT_TRUE(accepted || stream_->why().contains("mismatch")) << stream_->why();
    stream_.reset();
  }
}

// Fails if: a read never returns because the server sends only messages without data.
TEST_F(TlsStreamTest, MessagesOfTlsWithoutEndAreAFailure) {
  const SelfSignedServer server([](SSL& tls) {
    for (int i = 0; i < 4'000; ++i) {
      SSL_new_session_ticket(&tls);
      SSL_do_handshake(&tls);
    }
  });
  ASSERT_EQ(Shake(server, "localhost"), StreamState::kOk);
  EXPECT_EQ(Read(), StreamState::kFailed);
  EXPECT_THAT(stream_->why(), HasSubstr("without end"));
  stream_.reset();
}

// A thread that waits for a response polls only for readability. Fails if: OpenSSL responds to a
// key update at once and stops reading, so that the thread is woken again and again.
TEST_F(TlsStreamTest, AReadNeedsNoRoomToWrite) {
  std::latch go(1);
  const SelfSignedServer server([&go](SSL& tls) {
    go.wait();
    SSL_key_update(&tls, SSL_KEY_UPDATE_REQUESTED);
    SSL_do_handshake(&tls);
    SSL_write(&tls, "data", 4);
  });
  ASSERT_EQ(Shake(server, "localhost"), StreamState::kOk);
  const FullSockets full;
  go.count_down();
  EXPECT_EQ(Read(), StreamState::kOk);
  stream_.reset();
}

TEST_F(TlsStreamTest, AnotherHandshakeIsRefused) {
  const SelfSignedServer server(
      [](SSL& tls) {
        SSL_renegotiate(&tls);
        SSL_do_handshake(&tls);
        // Returns once the client has refused or begun the handshake.
        std::array<char, 1> byte{};
        SSL_read(&tls, byte.data(), 1);
        SSL_write(&tls, "data", 4);
      },
      nullptr, TLS1_2_VERSION);
  ASSERT_EQ(Shake(server, "localhost"), StreamState::kOk);
  const std::uint64_t sent = stream_->sent();
  EXPECT_NE(Read(), StreamState::kOk);
  EXPECT_LT(stream_->sent() - sent, 100U) << "an alert is shorter than the hello of a handshake";
  stream_.reset();
}

}  // namespace
}  // namespace weir::internal
