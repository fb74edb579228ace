// Servers that misbehave.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "weir/aws/testing/client_sockets_fixture.h"
#include "weir/aws/testing/faulty_sockets_fixture.h"
#include "weir/aws/testing/transport_fixture.h"

namespace weir {
namespace {

class HostileServerTest : public TransportTest {
 protected:
  /// Returns a name that has not been looked up before.
  static TransportOptions NewName() {
    static int count = 0;
    const std::string name = "silent-" + std::to_string(++count) + ".invalid";
    return {.host = name, .port = 80, .tls = false};
  }
  SendLimits Patient() const { return {.deadline = Deadline::After(clock_, kPatience)}; }
};

// Fails if: a server that sends faster than we read blocks the thread that would end the request.
TEST_P(HostileServerTest, AnAnswerWithoutEndEndsAtTheLimit) {
  LoopbackServer server(
      [](const SeenRequest&) { return ScriptedReply{.bytes = "HTTP/1.1 200 OK\r\n\r\n"}; });
  const auto transport = Connect(server);
  const EndlessSockets endless;
  const Response response = Ask(*transport, {.body = "x"}, kShort);
  ASSERT_FALSE(response);
  EXPECT_TRUE(response.error().timed_out) << response.error().message;
  EXPECT_TRUE(response.error().maybe_sent);
}

// Fails if: the caller gets the failure of the connection instead of its cause.
TEST_P(HostileServerTest, AnEarlyAnswerIsReadAlthoughTheRequestCannotBeWritten) {
  // These outlive the transport, whose thread may still be in a wait that has ended.
  std::latch two(2), waits(1), closed(1);
  LoopbackServer server(
      [&two](const SeenRequest& request) {
        if (request.head.starts_with("PUT")) two.arrive_and_wait();
        const bool early = request.head.starts_with("POST");
        return ScriptedReply{
            .bytes = early ? "HTTP/1.1 413 No\r\ncontent-length: 3\r\n\r\nbig" : Ok("ok"),
            .close = early};
      },
      LoopbackServer::Reads::kHead);
  const auto transport = Connect(server);
  std::future<Response> first = Start(*transport, {.method = "PUT"});
  ASSERT_TRUE(Start(*transport, {.method = "PUT"}).get());
  ASSERT_TRUE(first.get());
  // Blocks the loop's thread, so that it sees the other connection only after that is closed.
  transport->Send({.method = "GET"}, Patient(), [&](const Response&) {
    waits.count_down();
    closed.wait();
  });
  waits.wait();
  std::future<Response> early = Start(*transport, {.body = std::string(64 << 20, 'x')});
  while (SocketsTo(server.port()).size() > 1) {  // a socket that was reset has no peer
    std::this_thread::yield();
  }
  closed.count_down();
  const Response response = early.get();
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 413);
  EXPECT_EQ(response->body, "big");
}

// Fails if: waiting requests open a new connection as soon as one is closed.
TEST_P(HostileServerTest, AServerThatClosesEachConnectionSeesFewOfThem) {
  LoopbackServer server(Silence, LoopbackServer::Reads::kNothing);
  TransportOptions options = Options(server);
  options.max_connections = 8;
  const auto transport = Connect(options);
  std::vector<std::future<Response>> responses;
  for (int i = 0; i < 200; ++i) {
    responses.push_back(Start(*transport, {.body = "x"}, milliseconds(300)));
  }
  for (std::future<Response>& response : responses) EXPECT_FALSE(response.get());
  EXPECT_LE(server.connections(), 8 + 5) << "one more after 50, 100, 200 ms";
}

// Fails if: a callback that sends again finds a lock held, or the requests that failed with it are
// never completed.
TEST_P(HostileServerTest, ACallbackOfAFailureMaySendAgain) {
  constexpr int kRequests = 5, kTimes = 3;
  std::latch failed(kRequests * kTimes);
  std::function<void(int)> send;
  const auto transport = Connect({.host = "127.0.0.1", .port = ClosedPort(), .tls = false});
  send = [&](int times) {
    if (times == 0) return;
    transport->Send({.body = "x"}, Patient(), [&, times](const Response& response) {
      EXPECT_FALSE(response);
      EXPECT_FALSE(response || response.error().timed_out);
      send(times - 1);
      failed.count_down();
    });
  };
  for (int i = 0; i < kRequests; ++i) send(kTimes);
  failed.wait();
}

TEST_P(HostileServerTest, ARequestEndsAtItsLimitAlthoughTheResolverDoesNotAnswer) {
  const SilentResolver silent;
  const auto transport = Connect(NewName());
  const Response response = Ask(*transport, {.body = "x"}, kShort);
  ASSERT_FALSE(response);
  EXPECT_TRUE(response.error().timed_out);
  EXPECT_FALSE(response.error().maybe_sent);
}

// Fails if: the destructor waits for the resolver.
TEST_P(HostileServerTest, ATransportIsDestroyedWhileTheResolverDoesNotAnswer) {
  const SilentResolver silent;
  auto transport = Connect(NewName());
  std::future<Response> response = Start(*transport, {.body = "x"}, kShort);
  silent.WaitForQuestion();
  transport.reset();
  EXPECT_FALSE(response.get());
}

/// A clock that a test can move.
class JumpingClock final : public Clock {
 public:
  Instant Now() const override { return system_.Now() + nanoseconds(ahead_); }
  UnixMillis WallNow() const override { return system_.WallNow(); }
  void Jump(nanoseconds by) { ahead_ += by.count(); }

 private:
  SystemClock system_;
  std::atomic<std::int64_t> ahead_ = 0;
};

// Fails if: only the loop's timer prevents a waiting request from being sent too late.
TEST_P(HostileServerTest, ARequestThatWaitedBeyondItsLimitIsNotSentIfTheLoopIsLate) {
  JumpingClock clock;
  std::latch asked(1), go(1);
  LoopbackServer server([&](const SeenRequest& request) {
    asked.count_down();
    go.wait();
    return Echo(request);
  });
  TransportOptions options = Options(server);
  options.max_connections = 1;
  const auto transport = *GetParam().make(*runtime_, clock, options);
  const SendLimits endless;
  std::future<Response> holder = Start(*transport, {.body = "holds the connection"}, endless);
  asked.wait();
  std::future<Response> late = Start(*transport, {.body = "late"},
                                     {.deadline = Deadline::After(clock, milliseconds(60'000))});
  clock.Jump(milliseconds(61'000));
  go.count_down();
  ASSERT_TRUE(holder.get());
  const Response response = late.get();
  ASSERT_FALSE(response);
  EXPECT_TRUE(response.error().timed_out);
  EXPECT_FALSE(response.error().maybe_sent);
  EXPECT_EQ(server.seen().size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Transports, HostileServerTest, testing::Values(kSockets, kAwaitedSockets),
                         KindName);

}  // namespace
}  // namespace weir
