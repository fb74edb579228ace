#include "weir/aws/http/connector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "weir/aws/testing/loopback_server_fixture.h"

namespace weir::internal {
namespace {

using testing::HasSubstr;

SocketAddress AddressOf(std::uint16_t port) { return *ParseAddress("127.0.0.1", port); }

std::vector<int> Ports(const std::vector<SocketAddress>& addresses) {
  std::vector<int> ports;
  for (const SocketAddress& each : addresses) {
    ports.push_back(reinterpret_cast<const sockaddr_in*>(each.get())->sin_port);
  }
  return ports;
}

/// A port that does not respond to a connection attempt, because its listener's queue is full.
class SilentPort {
 public:
  SilentPort() {
    SocketAddress any = AddressOf(0);
    bind(listener_, any.get(), any.size);
    listen(listener_, 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&any.address), &any.size);
    address_ = any;
    for (int i = 0; i < 4; ++i) waiting_.push_back(*ByteStream::Connect(address_));
  }
  ~SilentPort() { close(listener_); }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;

  const SocketAddress& address() const { return address_; }

 private:
  const int listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  SocketAddress address_;
  std::vector<std::unique_ptr<ByteStream>> waiting_;
};

class ConnectorTest : public testing::Test {
 protected:
  using Made = Result<std::unique_ptr<ByteStream>>;

  ~ConnectorTest() override { loop_->Stop(); }

  /// Blocks until the connector has ended.
  Made Connect(std::vector<SocketAddress> addresses, nanoseconds patience) {
    options_.patience = patience;
    std::promise<Made> promise;
    loop_->Post([&] {
      connector_ = std::make_shared<Connector>(
          Connector::Context{*loop_, clock_, dead_}, options_, std::move(addresses),
          [&](Made made) { promise.set_value(std::move(made)); });
      connector_->Begin();
      loop_->WakeAt(connector_->wake());
    });
    Made made = promise.get_future().get();
    std::promise<void> gone;
    loop_->Post([&] {
      connector_ = nullptr;
      gone.set_value();
    });
    gone.get_future().wait();
    return made;
  }
  void OnTime() {
    if (connector_ == nullptr) return;
    const auto connector = connector_;
    if (connector->wake() <= clock_.Now()) connector->OnTime();
    loop_->WakeAt(connector->wake());
  }
  /// Returns the ports in the order in which they would be tried now.
  std::vector<int> Order(std::vector<SocketAddress> addresses) const {
    dead_.MoveToEnd(addresses, clock_.Now());
    return Ports(addresses);
  }

  SystemClock clock_;
  DeadAddresses dead_;
  ConnectorOptions options_;
  std::shared_ptr<Connector> connector_;
  std::unique_ptr<IoLoop> loop_ = *IoLoop::Start(clock_, [this] { OnTime(); });
};

TEST_F(ConnectorTest, AnAddressThatRefusesIsFollowedByTheNextAndComesLastFromThenOn) {
  LoopbackServer server([](const SeenRequest&) { return ScriptedReply{}; });
  const std::vector addresses{AddressOf(ClosedPort()), AddressOf(server.port())};
  ASSERT_TRUE(Connect(addresses, milliseconds(30'000)));
  EXPECT_EQ(Order(addresses), Ports({addresses[1], addresses[0]}));
}

// Fails if: an address that does not respond uses up the time of the others.
TEST_F(ConnectorTest, AnAddressThatDoesNotAnswerHasAHeadStartOnly) {
  const SilentPort silent;
  LoopbackServer server([](const SeenRequest&) { return ScriptedReply{}; });
  const std::vector addresses{silent.address(), AddressOf(server.port())};
  const Instant begin = clock_.Now();
  ASSERT_TRUE(Connect(addresses, milliseconds(30'000)));
  EXPECT_LT(clock_.Now() - begin, milliseconds(10'000));
  EXPECT_EQ(Order(addresses), Ports({addresses[1], addresses[0]}));
}

TEST_F(ConnectorTest, NoAnswerOfAnyEndsWithThePatience) {
  const SilentPort one, other;
  const Made made = Connect({one.address(), other.address()}, milliseconds(300));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kUnavailable);
  EXPECT_THAT(made.error().message, HasSubstr("did not answer in time"));
}

TEST(DeadAddresses, OneIsLastForSomeTimeAndUntilItAnswers) {
  const SocketAddress a = AddressOf(1), b = AddressOf(2), c = AddressOf(3);
  const Instant now{5};
  DeadAddresses dead;
  dead.Add(a, now);
  dead.Add(b, now);
  dead.Remove(b);
  std::vector addresses{a, b, c};
  dead.MoveToEnd(addresses, now + DeadAddresses::kRemembered - nanoseconds(1));
  EXPECT_EQ(Ports(addresses), Ports({b, c, a}));
  addresses = {a, b, c};
  dead.MoveToEnd(addresses, now + DeadAddresses::kRemembered);
  EXPECT_EQ(Ports(addresses), Ports({a, b, c}));
}

TEST(DeadAddresses, TheOldestIsForgottenBeyondTheBound) {
  DeadAddresses dead;
  const Instant now{5};
  for (std::uint16_t port = 1; port <= DeadAddresses::kMost + 1; ++port) {
    dead.Add(AddressOf(port), now);
  }
  std::vector addresses{AddressOf(2), AddressOf(1)};
  dead.MoveToEnd(addresses, now);
  EXPECT_EQ(Ports(addresses), Ports({AddressOf(1), AddressOf(2)}));
}

}  // namespace
}  // namespace weir::internal
