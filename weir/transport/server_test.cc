#include "weir/transport/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <string>
#include <string_view>

#include "weir/base/testing/temp_folder_fixture.h"
#include "weir/transport/testing/server_fixture.h"

namespace weir::transport {
namespace {

using testing::HasSubstr;

class ServerTest : public ServerTestBase {};

/// More than the buffers of two sockets hold.
constexpr std::size_t kLargeOutput = 16 << 20;
constexpr std::size_t kBytesOfATurn = 8 * 1024;

std::string PatternedText(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

TEST_F(ServerTest, BytesReachTheConnectionAndItsOutputThePeer) {
  Start();
  const TestClient client(address());
  client.Send("hello");
  EXPECT_EQ(client.Read(5), "hello");
  const auto counts = observed_.counts();
  EXPECT_TRUE(counts.last_peer.starts_with("127.0.0.1:")) << counts.last_peer;
  EXPECT_FALSE(counts.last_encrypted);
  EXPECT_EQ(server_->connections(), 1U);
}

TEST_F(ServerTest, APeerThatClosesHalfGetsTheRestOfTheOutput) {
  Start(Loopback(), [](auto& self, auto) { self.output = PatternedText(kLargeOutput); });
  const TestClient client(address());
  client.Send("hello");
  client.EndWrites();
  EXPECT_TRUE(client.ReadToEnd() == PatternedText(kLargeOutput));
  AwaitDestroyed(1);
  EXPECT_EQ(observed_.counts().peer_closes, 1);
}

TEST_F(ServerTest, AConnectionThatIsNotDoneOutlivesTheEndOfItsInput) {
  Start(Loopback(), [](auto& self, auto) {
    self.ends_with_peer = false;
    self.output = "later";
  });
  const TestClient client(address());
  client.Send("hello");
  client.EndWrites();
  EXPECT_EQ(client.Read(5), "later");
  observed_.Await([](const auto& counts) { return counts.peer_closes == 1; });
  RunPosted();
  EXPECT_EQ(observed_.counts().destroyed, 0);
}

TEST_F(ServerTest, OutputThatTheSocketTakesInPartsArrivesWhole) {
  Start(Loopback(), [](auto& self, auto) { self.output = PatternedText(kLargeOutput); });
  const TestClient client(address());
  client.Send("go");
  EXPECT_TRUE(client.Read(kLargeOutput) == PatternedText(kLargeOutput));
  RunPosted();
  EXPECT_EQ(observed_.counts().sent, kLargeOutput);
  EXPECT_EQ(server_->counters().bytes_sent.Value(), kLargeOutput);
  EXPECT_EQ(server_->counters().bytes_received.Value(), 2U);
}

// Fails if: input is read while the peer takes no output.
TEST_F(ServerTest, NothingIsReadFromAPeerThatDoesNotTakeItsOutput) {
  constexpr std::size_t kMost = 256 << 20;
  Start(Loopback(), [first = true](auto& self, auto) mutable {
    if (first) self.output = PatternedText(kLargeOutput);
    first = false;
  });
  const TestClient client(address());
  client.Send("go");
  observed_.Await([](const auto& counts) { return counts.sent > 0; });
  RunPosted();
  const std::size_t sent = client.SendUntilFull(kMost);
  ASSERT_LT(sent, kMost);
  RunPosted();
  EXPECT_LE(observed_.counts().received, sizeof("go") + kBytesOfATurn);
  EXPECT_TRUE(client.Read(kLargeOutput) == PatternedText(kLargeOutput));
  observed_.Await([&](const auto& counts) { return counts.received == 2 + sent; });
}

// Fails if: peers cannot connect before the start, or are served before it.
TEST_F(ServerTest, APeerThatConnectsBeforeTheStartIsServedAfterIt) {
  MakeServer(Loopback(), [](auto& self, auto bytes) { self.output = bytes; });
  ASSERT_TRUE(server_->Listen());
  const TestClient client(address());
  client.Send("go");
  RunPosted();
  EXPECT_EQ(server_->connections(), 0U);
  ASSERT_TRUE(server_->Start());
  EXPECT_EQ(client.Read(2), "go");
}

TEST_F(ServerTest, AServerThatOnlyListenedEnds) {
  MakeServer(Loopback(), nullptr);
  ASSERT_TRUE(server_->Listen());
  const std::string was = address();
  server_.reset();
  MakeServer({.addresses = {was}}, nullptr);
  EXPECT_TRUE(server_->Listen()) << "the address is free again";
}

// Fails if: all bytes of one connection are read before those of another.
TEST_F(ServerTest, AConnectionWithManyBytesDoesNotHoldUpTheOthers) {
  EXPECT_LE(ReadBeforeOther<TestClient>(Loopback(), 64 * 1024), 2 * kBytesOfATurn);
}

// Fails if: a change is settled after the connection has ended and lingers.
TEST_F(ServerTest, AChangeThatIsPendingWhenTheConnectionEndsDoesNothing) {
  std::promise<void> entered;
  std::promise<void> sent;
  Start(Loopback(), [&](auto& self, std::string_view bytes) {
    if (bytes == "end") {
      self.is_done = true;
      return;
    }
    self.context.loop.Post([&] {
      self.context.changed();  // settled by a task behind those that follow
      entered.set_value();
      sent.get_future().wait();
    });
    for (int i = 0; i < 80; ++i) self.context.loop.Post([] {});
  });
  const TestClient client(address());
  client.Send("go");
  entered.get_future().wait();
  client.Send("end");
  sent.set_value();
  EXPECT_EQ(client.ReadToEnd(), "");
  RunPosted();
  EXPECT_EQ(observed_.counts().destroyed, 1);
}

// On a socket file, whose buffer has a fixed size: it is full after one turn.
TEST_F(ServerTest, APeerThatTakesNoBytesIsCutInTime) {
  const TempFolder folder;
  ServerOptions options;
  options.addresses = {"unix:" + folder / "socket"};
  Start(options, [](auto& self, auto) { self.output = PatternedText(kLargeOutput); });
  const TestClient client(address());
  client.Send("go");
  observed_.Await([](const auto& counts) { return counts.sent > 0; });
  RunPosted();
  AdvanceTime(std::chrono::seconds(29));
  EXPECT_EQ(observed_.counts().destroyed, 0);
  AdvanceTime(std::chrono::seconds(1));
  EXPECT_EQ(observed_.counts().destroyed, 1);
  EXPECT_EQ(server_->counters().cut_slow.Value(), 1U);
}

TEST_F(ServerTest, AConnectionThatThePeerResetsIsDestroyed) {
  Start();
  TestClient client(address());
  client.Send("hello");
  client.Read(5);
  client.Reset();
  AwaitDestroyed(1);
  RunPosted();
  EXPECT_EQ(server_->counters().cut_broken.Value(), 1U);
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(ServerTest, AResetInTheMidstOfOutputDestroysTheConnection) {
  Start(Loopback(), [](auto& self, auto) { self.output = PatternedText(kLargeOutput); });
  TestClient client(address());
  client.Send("go");
  client.Read(10);
  client.Reset();
  AwaitDestroyed(1);
}

TEST_F(ServerTest, OutputThatIsMadeLaterIsSent) {
  Start(Loopback(), [](auto& self, auto bytes) {
    self.context.loop.Post([&self, text = std::string(bytes)] {
      self.output += text;
      self.context.changed();
      self.output += "!";
      self.context.changed();
    });
  });
  const TestClient client(address());
  client.Send("hello");
  EXPECT_EQ(client.Read(6), "hello!");
}

TEST_F(ServerTest, AChangeThatIsReportedAfterTheEndDoesNothing) {
  std::function<void()> changed;
  Start(Loopback(), [&](auto& self, auto) {
    changed = self.context.changed;
    self.is_done = true;
  });
  const TestClient client(address());
  client.Send("hello");
  EXPECT_EQ(client.ReadToEnd(), "");
  AwaitDestroyed(1);
  loops_[0]->RunAndWait([&] { changed(); });
}

TEST_F(ServerTest, AConnectionIsCalledAtItsTime) {
  Start(Loopback(), [&](auto& self, auto bytes) {
    self.output = bytes;
    self.wake_at = clock_.Now() + std::chrono::seconds(5);
  });
  const TestClient client(address());
  client.Send("hello");
  client.Read(5);
  AdvanceTime(std::chrono::seconds(4));
  EXPECT_EQ(observed_.counts().timeouts, 0);
  AdvanceTime(std::chrono::seconds(1));
  EXPECT_EQ(observed_.counts().timeouts, 1);
  EXPECT_EQ(client.ReadToEnd(), "");
}

// Fails if: a socket with unread bytes is closed, which sends a reset.
TEST_F(ServerTest, TheLastOutputArrivesAlthoughThePeerStillSends) {
  constexpr std::size_t kRest = 200'000;
  Start(Loopback(), [](auto& self, auto) {
    self.output = "bye";
    self.is_done = true;
  });
  const TestClient client(address());
  client.Send(std::string(kRest, 'x'));
  EXPECT_EQ(client.ReadToEnd(), "bye");
}

TEST_F(ServerTest, APeerThatDoesNotCloseIsNotWaitedForLong) {
  Start(Loopback(), [](auto& self, auto) { self.is_done = true; });
  const TestClient client(address());
  client.Send("hello");
  EXPECT_EQ(client.ReadToEnd(), "");
  RunPosted();
  EXPECT_EQ(server_->connections(), 1U);
  AdvanceTime(std::chrono::seconds(1));
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(ServerTest, DestructionCutsOpenConnections) {
  Start(Loopback(), [](auto& self, auto bytes) {
    if (bytes == "much") self.output = PatternedText(kLargeOutput);
    if (bytes == "end") self.is_done = true;
  });
  const TestClient idle(address()), blocked(address()), lingering(address());
  blocked.Send("much");
  lingering.Send("end");
  observed_.Await([](const auto& counts) {
    return counts.opened == 3 && counts.sent > 0 && counts.destroyed == 1;
  });
  server_.reset();
  EXPECT_EQ(observed_.counts().destroyed, 3);
  EXPECT_EQ(idle.Read(1), "");
}

TEST_F(ServerTest, AFactoryMayRefuseAPeer) {
  loops_ = *StartLoops(clock_, 1);
  server_.emplace(loops_, Loopback(), [](const ConnectionContext&) { return nullptr; }, log_);
  ASSERT_TRUE(server_->Start());
  const TestClient client(address());
  EXPECT_EQ(client.ReadToEnd(), "");
  RunPosted();
  EXPECT_EQ(server_->counters().refused_system.Value(), 1U);
}

TEST_F(ServerTest, PlaintextBeyondLoopbackNeedsAnExplicitOption) {
  ServerOptions options;
  options.addresses = {"127.0.0.1:0", "0.0.0.0:0"};
  loops_ = *StartLoops(clock_, 1);
  Server refused(loops_, options, MakeScripted(observed_));
  const Status status = refused.Start();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInvalidArgument);
  EXPECT_THAT(status.error().message, HasSubstr("'0.0.0.0:"));
  EXPECT_THAT(status.error().message, HasSubstr("set tls-certificate and tls-key"));
  options.allow_plaintext = true;
  Server allowed(loops_, options, MakeScripted(observed_));
  EXPECT_TRUE(allowed.Start());
  EXPECT_EQ(allowed.addresses().size(), 2U);
}

TEST_F(ServerTest, AnAddressInUseIsAnErrorThatNamesIt) {
  Start();
  ServerOptions options;
  options.addresses = {address()};
  Server second(loops_, options, MakeScripted(observed_));
  const Status status = second.Start();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(status.error().message, HasSubstr(address()));
}

}  // namespace
}  // namespace weir::transport
