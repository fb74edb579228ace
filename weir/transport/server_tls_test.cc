#include "weir/transport/server_tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "weir/base/testing/temp_folder_fixture.h"
#include "weir/transport/testing/server_fixture.h"
#include "weir/transport/testing/test_authority_fixture.h"
#include "weir/transport/testing/tls_client_fixture.h"

namespace weir::transport {
namespace {

using testing::Contains;
using testing::HasSubstr;

class ServerTlsTest : public ServerTestBase {
 protected:
  ServerTlsTest() { authority_.Issue("first", folder_ / "cert.pem", folder_ / "key.pem"); }

  ServerOptions WithTls() const {
    ServerOptions options = Loopback();
    options.tls = {.certificate_file = folder_ / "cert.pem",
                   .key_file = folder_ / "key.pem",
                   .protocol = "h2"};
    return options;
  }
  ServerOptions WithClientCertificates(bool required) const {
    authority_.WriteTo(folder_ / "ca.pem");
    ServerOptions options = WithTls();
    options.tls->client_ca_file = folder_ / "ca.pem";
    options.tls->requires_client_certificate = required;
    return options;
  }
  TlsClientOptions Certified(const TestAuthority& authority) const {
    authority.Issue("envoy", folder_ / "client.pem", folder_ / "client_key.pem");
    return {.certificate_file = folder_ / "client.pem", .key_file = folder_ / "client_key.pem"};
  }
  static bool IsServed(const TlsClient& client) {
    client.Send("x");
    return client.Read(1) == "x";
  }
  void AwaitHandshakeError(const Counter& counter) {
    while (counter.Value() == 0) RunPosted();
    RunPosted();
  }

  TempFolder folder_;
  TestAuthority authority_;
};

// Fails if: the rest of a record is read by tasks of the loop, which come before ready sockets.
TEST_F(ServerTlsTest, AConnectionWithManyBytesDoesNotHoldUpTheOthers) {
  EXPECT_LE(ReadBeforeOther<TlsClient>(WithTls(), 64 * 1024), 16 * 1024);
}

TEST_F(ServerTlsTest, BytesAreExchangedEncrypted) {
  Start(WithTls());
  const TlsClient client(address());
  ASSERT_TRUE(client.is_shaken());
  const std::string text(300'000, 'x');
  for (int i = 0; i < 10; ++i) {
    client.Send(text.substr(0, 30'000));
    ASSERT_EQ(client.Read(30'000), text.substr(0, 30'000));
  }
  EXPECT_TRUE(observed_.counts().last_encrypted);
  EXPECT_EQ(observed_.counts().last_certificate, "");
  EXPECT_EQ(client.server_name(), "first");
}

TEST_F(ServerTlsTest, OutputThatTheSocketTakesInPartsArrivesWhole) {
  constexpr std::size_t kSize = 16 << 20;
  Start(WithTls(), [](auto& self, auto) {
    for (std::size_t i = 0; i < kSize; ++i) self.output += static_cast<char>('a' + i % 23);
  });
  const TlsClient client(address());
  client.Send("go");
  observed_.Await([](const auto& counts) { return counts.sent > 0; });
  const std::string all = client.Read(kSize);
  ASSERT_EQ(all.size(), kSize);
  for (std::size_t i = 0; i < kSize; ++i) ASSERT_EQ(all[i], static_cast<char>('a' + i % 23)) << i;
}

// Fails if: bytes that OpenSSL has read already are not processed until the peer sends more.
TEST_F(ServerTlsTest, MoreBytesThanTheBufferOfTheLoopAreProcessed) {
  constexpr std::size_t kSize = 1 << 20;
  Start(WithTls(), [](auto&, auto) {});
  const TlsClient client(address());
  client.Send(std::string(kSize, 'x'));
  observed_.Await([](const auto& counts) { return counts.received == kSize; });
}

TEST_F(ServerTlsTest, TheEndThatFollowsBytesIsNoticed) {
  Start(WithTls(), [](auto&, auto) {});
  const TlsClient client(address());
  client.Send("x");
  SSL_shutdown(&client.tls());
  AwaitDestroyed(1);
  EXPECT_EQ(observed_.counts().peer_closes, 1);
}

TEST_F(ServerTlsTest, APeerWithoutHttp2IsRefused) {
  Start(WithTls());
  EXPECT_FALSE(TlsClient(address(), {.protocol = "http/1.1"}).is_shaken());
  const TlsClient silent(address(), {.protocol = ""});
  ASSERT_FALSE(IsServed(silent));
  AwaitHandshakeError(server_->counters().handshakes_failed);
  AwaitHandshakeError(server_->counters().handshakes_alpn);
  EXPECT_EQ(observed_.counts().opened, 0);
}

TEST_F(ServerTlsTest, OldVersionsAndCiphersAreRefused) {
  Start(WithTls());
  EXPECT_FALSE(TlsClient(address(), {.latest_version = TLS1_1_VERSION}).is_shaken());
  EXPECT_FALSE(TlsClient(address(), {.latest_version = TLS1_2_VERSION,
                                     .ciphers = "ECDHE-ECDSA-AES128-SHA256:@SECLEVEL=0"})
                   .is_shaken());
  EXPECT_TRUE(IsServed(TlsClient(address(), {.latest_version = TLS1_2_VERSION})));
}

TEST_F(ServerTlsTest, AnotherHandshakeIsRefused) {
  Start(WithTls());
  const TlsClient client(address(), {.latest_version = TLS1_2_VERSION});
  ASSERT_TRUE(IsServed(client));
  SSL_renegotiate(&client.tls());
  SSL_do_handshake(&client.tls());
  EXPECT_FALSE(IsServed(client));
}

TEST_F(ServerTlsTest, PlainBytesAreRefused) {
  Start(WithTls());
  const TestClient client(address());
  client.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  AwaitHandshakeError(server_->counters().handshakes_failed);
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("warning transport.handshake_failed peer=127.")));
}

TEST_F(ServerTlsTest, AHandshakeHasATimeLimit) {
  Start(WithTls());
  const TestClient client(address());
  while (server_->connections() == 0) RunPosted();
  // A connection is counted before the task that starts its handshake is posted. The task of the
  // first call may precede that one; the first call then ends after it was posted.
  RunPosted();
  RunPosted();
  AdvanceTime(std::chrono::seconds(9));
  EXPECT_EQ(server_->connections(), 1U);
  AdvanceTime(std::chrono::seconds(1));
  EXPECT_EQ(server_->connections(), 0U);
  EXPECT_EQ(server_->counters().handshakes_late.Value(), 1U);
}

TEST_F(ServerTlsTest, ARequiredClientCertificateIsVerified) {
  Start(WithClientCertificates(true));
  EXPECT_FALSE(IsServed(TlsClient(address())));
  EXPECT_FALSE(IsServed(TlsClient(address(), Certified(TestAuthority("stranger")))));
  EXPECT_TRUE(IsServed(TlsClient(address(), Certified(authority_))));
  EXPECT_EQ(observed_.counts().opened, 1);
  EXPECT_EQ(observed_.counts().last_certificate, "CN=envoy");
}

TEST_F(ServerTlsTest, AnOptionalClientCertificateIsVerifiedIfItIsThere) {
  Start(WithClientCertificates(false));
  EXPECT_TRUE(IsServed(TlsClient(address())));
  EXPECT_EQ(observed_.counts().last_certificate, "");
  EXPECT_FALSE(IsServed(TlsClient(address(), Certified(TestAuthority("stranger")))));
  EXPECT_TRUE(IsServed(TlsClient(address(), Certified(authority_))));
  EXPECT_EQ(observed_.counts().last_certificate, "CN=envoy");
}

TEST_F(ServerTlsTest, AReloadServesTheNewCertificateToNewConnections) {
  Start(WithTls());
  const TlsClient before(address());
  authority_.Issue("second", folder_ / "cert.pem", folder_ / "key.pem");
  EXPECT_EQ(TlsClient(address()).server_name(), "first");
  EXPECT_TRUE(server_->ReloadTls());
  EXPECT_EQ(TlsClient(address()).server_name(), "second");
  EXPECT_TRUE(IsServed(before));
}

TEST_F(ServerTlsTest, ABadFileKeepsTheOldCertificateAndIsReported) {
  Start(WithTls());
  std::ofstream(folder_ / "cert.pem") << "damaged";
  const Status status = server_->ReloadTls();
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr(folder_ / "cert.pem"));
  EXPECT_EQ(server_->counters().reload_errors.Value(), 1U);
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("error transport.tls_reload_failed")));
  EXPECT_EQ(TlsClient(address()).server_name(), "first");
}

TEST_F(ServerTlsTest, AKeyOfAnotherCertificateIsRefused) {
  authority_.Issue("other", folder_ / "other.pem", folder_ / "other_key.pem");
  TlsOptions options = *WithTls().tls;
  options.key_file = folder_ / "other_key.pem";
  const auto loaded = ServerTls::Load(options);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr(options.key_file));
}

TEST_F(ServerTlsTest, IncompleteOptionsAreRefused) {
  EXPECT_FALSE(ServerTls::Load({.certificate_file = folder_ / "cert.pem"}));
  TlsOptions options = *WithTls().tls;
  options.requires_client_certificate = true;
  EXPECT_FALSE(ServerTls::Load(options));
  options.client_ca_file = folder_ / "missing.pem";
  EXPECT_THAT(ServerTls::Load(options).error().message, HasSubstr("missing.pem"));
}

// Fails if: updates of keys without end hold up the loop.
TEST_F(ServerTlsTest, MessagesOfTlsWithoutEndAreCut) {
  Start(WithTls());
  const TlsClient client(address());
  ASSERT_TRUE(IsServed(client));
  for (int i = 0; i < 100'000 && server_->connections() == 1; ++i) {
    SSL_key_update(&client.tls(), SSL_KEY_UPDATE_NOT_REQUESTED);
    if (SSL_do_handshake(&client.tls()) != 1) break;
  }
  AwaitDestroyed(1);
  RunPosted();
  EXPECT_EQ(server_->counters().cut_broken.Value(), 1U);
}

TEST_F(ServerTlsTest, DestructionCutsHandshakes) {
  Start(WithTls());
  const TestClient client(address());
  while (server_->connections() == 0) RunPosted();
  server_.reset();
  EXPECT_EQ(client.Read(1), "");
}

}  // namespace
}  // namespace weir::transport
