// The bounds of a server, and the choice of a loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "weir/transport/testing/no_more_descriptors_fixture.h"
#include "weir/transport/testing/server_fixture.h"

namespace weir::transport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ServerBoundsTest : public ServerTestBase {
 protected:
  /// Returns whether the server serves the client.
  static bool IsServed(const TestClient& client) {
    client.Send("x");
    return client.Read(1) == "x";
  }
  void AwaitOpen(std::size_t count) {
    while (server_->connections() != count) RunPosted();
  }
};

TEST_F(ServerBoundsTest, ConnectionsBeyondTheBoundAreClosed) {
  ServerOptions options = Loopback();
  options.max_connections = 2;
  Start(options);
  TestClient first(address());
  const TestClient second(address());
  EXPECT_TRUE(IsServed(first) && IsServed(second));
  EXPECT_FALSE(IsServed(TestClient(address())));
  EXPECT_EQ(server_->counters().refused_total.Value(), 1U);
  first.Close();
  AwaitOpen(1);
  EXPECT_TRUE(IsServed(TestClient(address())));
}

TEST_F(ServerBoundsTest, APeerDoesNotUseTheConnectionsOfAnother) {
  ServerOptions options = Loopback();
  options.max_connections_per_peer = 1;
  Start(options);
  const TestClient first(address());
  EXPECT_TRUE(IsServed(first));
  EXPECT_FALSE(IsServed(TestClient(address())));
  EXPECT_TRUE(IsServed(TestClient(address(), "127.0.0.2:0")));
  EXPECT_EQ(server_->counters().refused_peer.Value(), 1U);
}

// Fails if: the loop tries again at once, or never.
TEST_F(ServerBoundsTest, WithoutDescriptorsTheServerPauses) {
  Start();
  // UBSan needs a descriptor to examine the first object of a type, so a log is used before.
  Log& log = log_;
  log.Write(LogLevel::kInfo, "begin", {});
  std::optional<NoMoreDescriptors> none;
  const TestClient client(address());  // the kernel connects; the server may have accepted it
  IsServed(client);
  // Made before the limit, because it needs a descriptor; connected after it.
  const SocketAddress to = *ParseListenAddress(address());
  const UniqueFd late(socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  none.emplace();
  ASSERT_EQ(connect(late.get(), to.get(), to.size), 0);
  const Counter& errors = server_->counters().accept_errors;
  while (errors.Value() == 0) RunPosted();
  for (int i = 0; i < 20; ++i) RunPosted();
  EXPECT_EQ(errors.Value(), 1U);
  AdvanceTime(milliseconds(100));
  EXPECT_EQ(errors.Value(), 2U);
  none.reset();
  AdvanceTime(milliseconds(100));
  AwaitOpen(2);
  EXPECT_EQ(errors.Value(), 2U);
  EXPECT_THAT(
      log_.lines(),
      ElementsAre("info begin", HasSubstr("error transport.accept_failed message=Too many")));
}

// Fails if: a connection that has given up its output keeps its socket, and its wake a busy loop.
TEST_F(ServerBoundsTest, AConnectionThatIsDoneIsClosedAlthoughOutputIsUnsent) {
  Start(Loopback(), [](ScriptedConnection& connection, std::string_view) {
    connection.output.assign(64'000'000, 'x');
    connection.drops_output = true;
    connection.is_cut = true;
    connection.wake_at = Instant{0};
  });
  const TestClient client(address());
  client.Send("x");
  AwaitDestroyed(1);
  RunPosted();  // the session counts its end after it has destroyed the connection
  EXPECT_EQ(server_->counters().cut_slow.Value(), 1U);
  EXPECT_EQ(server_->counters().cut_drained.Value(), 1U) << "its requests are given up, too";
}

// Fails if: connections are dealt in turn, whatever ended.
TEST_F(ServerBoundsTest, AConnectionGoesToTheLoopWithTheFewest) {
  loops_ = *StartLoops(clock_, 3);
  std::mutex mutex;
  std::map<const Scheduler*, std::vector<std::string>> of_loop;  // the addresses of the peers
  server_.emplace(loops_, Loopback(), [&](ConnectionContext context) {
    {
      const std::lock_guard lock(mutex);
      of_loop[&context.loop].push_back(context.peer.address);
    }
    return std::make_unique<ScriptedConnection>(std::move(context), observed_, nullptr);
  });
  ASSERT_TRUE(server_->Start());
  std::vector<std::unique_ptr<TestClient>> clients;
  const auto connect_more = [&](int count) {
    for (int i = 0; i < count; ++i) {
      clients.push_back(std::make_unique<TestClient>(address()));
      ASSERT_TRUE(IsServed(*clients.back()));
    }
  };
  connect_more(6);
  for (const auto& [loop, peers] : of_loop) EXPECT_EQ(peers.size(), 2U);
  ASSERT_EQ(of_loop.size(), 3U);
  // The first and the fourth were dealt to one loop.
  clients[0]->Close();
  clients[3]->Close();
  AwaitOpen(4);
  connect_more(2);
  std::vector<std::size_t> made;
  for (const auto& [loop, peers] : of_loop) made.push_back(peers.size());
  EXPECT_THAT(made, testing::UnorderedElementsAre(2U, 2U, 4U));
}

}  // namespace
}  // namespace weir::transport
