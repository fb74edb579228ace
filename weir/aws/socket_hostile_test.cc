// Servers that do what no server should.
#include <gtest/gtest.h>

#include <latch>
#include <string>
#include <thread>

#include "weir/aws/client_sockets_fixture.h"
#include "weir/aws/faulty_sockets_fixture.h"
#include "weir/aws/transport_fixture.h"

namespace weir {
namespace {

class HostileServerTest : public TransportTest {
 protected:
  SendLimits Patient() const { return {.deadline = Deadline::After(clock_, kPatience)}; }
};

// Fails if: a server that sends faster than we read keeps the thread that would end the request.
TEST_P(HostileServerTest, AnAnswerWithoutEndEndsAtTheLimit) {
  LoopbackServer server(
      [](const SeenRequest&) { return ScriptedReply{.bytes = "HTTP/1.1 200 OK\r\n\r\n"}; });
  const auto transport = Connect(server);
  const EndlessSockets endless;
  const Answer answer = Ask(*transport, {.body = "x"}, kShort);
  ASSERT_FALSE(answer);
  EXPECT_TRUE(answer.error().timed_out) << answer.error().message;
  EXPECT_TRUE(answer.error().maybe_sent);
}

// Fails if: the caller learns that the connection broke, instead of why.
TEST_P(HostileServerTest, AnEarlyAnswerIsReadAlthoughTheRequestCannotBeWritten) {
  std::latch two(2);
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
  std::future<Answer> first = Start(*transport, {.method = "PUT"});
  ASSERT_TRUE(Start(*transport, {.method = "PUT"}).get());
  ASSERT_TRUE(first.get());
  // The loop's thread waits here, so that it sees the other connection when that is closed already.
  std::latch waits(1), closed(1);
  transport->Send({.method = "GET"}, Patient(), [&](const Answer&) {
    waits.count_down();
    closed.wait();
  });
  waits.wait();
  std::future<Answer> early = Start(*transport, {.body = std::string(64 << 20, 'x')});
  while (SocketsTo(server.port()).size() > 1) {  // a reset one has no peer
    std::this_thread::yield();
  }
  closed.count_down();
  const Answer answer = early.get();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 413);
  EXPECT_EQ(answer->body, "big");
}

INSTANTIATE_TEST_SUITE_P(Transports, HostileServerTest, testing::Values(kSockets, kAwaitedSockets),
                         KindName);

}  // namespace
}  // namespace weir
