// Callers that block in Await, whose threads read the responses themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

#include "weir/aws/testing/transport_fixture.h"

namespace weir {
namespace {

using testing::HasSubstr;

class WaitingCallerTest : public TransportTest {
 protected:
  SendLimits Patient() const { return {.deadline = Deadline::After(clock_, kPatience)}; }
};

// Fails if: another thread reads the caller's response and wakes it.
TEST_P(WaitingCallerTest, OnSocketsTheCallersThreadRunsTheCallback) {
  LoopbackServer server(Echo);
  const auto transport = Connect(server);
  // The first request waits until the connection is made.
  ASSERT_TRUE(Await(*transport, {.body = "x"}, Patient()));
  std::thread::id ran_on;
  const auto response = weir::Await<Response>([&](Done<Response> done) {
    transport->Send({.body = "y"}, Patient(), [&, done = std::move(done)](Response result) mutable {
      ran_on = std::this_thread::get_id();
      done(std::move(result));
    });
  });
  ASSERT_TRUE(*response);
  EXPECT_EQ((*response)->body, "y");
  EXPECT_EQ(ran_on == std::this_thread::get_id(), GetParam().make == &MakeTransport);
  EXPECT_EQ(server.connections(), 1);
}

// Fails if: a caller waits for its own request although another thread has delivered its result, or
// the request is then lost.
TEST_P(WaitingCallerTest, AResultFromElsewhereEndsTheWaitAndTheExchangeGoesOn) {
  std::latch go(1);
  LoopbackServer server([&go](const SeenRequest& request) {
    if (request.body == "stalls") go.wait();
    return Echo(request);
  });
  const auto transport = Connect(server);
  ASSERT_TRUE(Await(*transport, {.body = "x"}, Patient()));
  std::future<Response> stalled;
  std::jthread other;
  const Result<int> result = weir::Await<int>([&](Done<int> done) {
    stalled = Start(*transport, {.body = "stalls"}, Patient());
    other = std::jthread([done = std::move(done)]() mutable { done(1); });
  });
  EXPECT_EQ(result, 1);
  EXPECT_FALSE(IsReady(stalled));
  go.count_down();
  ASSERT_EQ(stalled.wait_for(kPatience), std::future_status::ready);
  const Response response = stalled.get();
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "stalls");
  EXPECT_TRUE(Await(*transport, {.body = "y"}, Patient()));
  EXPECT_EQ(server.connections(), 1);
}

TEST_P(WaitingCallerTest, ARequestWhoseResultIsThereAtOnceGoesOn) {
  LoopbackServer server(Echo);
  const auto transport = Connect(server);
  ASSERT_TRUE(Await(*transport, {.body = "x"}, Patient()));
  std::future<Response> late;
  EXPECT_TRUE(weir::Await<void>([&](Done<void> done) {
    late = Start(*transport, {.body = "late"}, Patient());
    done({});
  }));
  ASSERT_EQ(late.wait_for(kPatience), std::future_status::ready);
  EXPECT_TRUE(late.get());
}

// Fails if: a request makes no progress while the thread that sent it waits for another one.
TEST_P(WaitingCallerTest, ANestedWaitDoesNotHoldUpTheOuterRequest) {
  LoopbackServer server(Echo);
  const auto transport = Connect(server);
  ASSERT_TRUE(Await(*transport, {.body = "x"}, Patient()));
  std::future<Response> outer;
  EXPECT_TRUE(weir::Await<void>([&](Done<void> done) {
    outer = Start(*transport, {.body = "outer"}, Patient());
    EXPECT_TRUE(Await(*transport, {.body = "inner"}, Patient()));
    EXPECT_EQ(outer.wait_for(kPatience), std::future_status::ready);
    done({});
  }));
  EXPECT_EQ(outer.get()->body, "outer");
}

TEST_P(WaitingCallerTest, ASecondRequestFollowsTheFirstWithinOneWait) {
  LoopbackServer server(Echo);
  const auto transport = Connect(server);
  std::optional<Response> first;
  const auto second = weir::Await<Response>([&](Done<Response> done) {
    transport->Send(
        {.body = "1"}, Patient(), [&, done = std::move(done)](Response response) mutable {
          first = std::move(response);
          transport->Send(
              {.body = "2"}, Patient(),
              [done = std::move(done)](Response last) mutable { done(std::move(last)); });
        });
  });
  ASSERT_TRUE(first && *first);
  ASSERT_TRUE(*second);
  EXPECT_EQ((*first)->body + (*second)->body, "12");
  EXPECT_EQ(server.connections(), 1);
}

TEST_P(WaitingCallerTest, ItsLimitEndsTheRequest) {
  LoopbackServer server([](const SeenRequest& request) {
    return request.body == "x" ? Echo(request) : ScriptedReply{};
  });
  const auto transport = Connect(server);
  ASSERT_TRUE(Await(*transport, {.body = "x"}, Patient()));
  const Response response = Await(*transport, {.body = "no answer"}, CompletedWithin(kShort));
  ASSERT_FALSE(response);
  EXPECT_TRUE(response.error().timed_out);
  EXPECT_TRUE(response.error().maybe_sent);
  EXPECT_THAT(response.error().message, HasSubstr("no response in time"));
  EXPECT_TRUE(Await(*transport, {.body = "x"}, Patient()));
}

TEST_P(WaitingCallerTest, AServerThatClosesEndsTheRequest) {
  LoopbackServer server([](const SeenRequest& request) {
    return request.body == "x" ? Echo(request) : ScriptedReply{.close = true};
  });
  const auto transport = Connect(server);
  ASSERT_TRUE(Await(*transport, {.body = "x"}, Patient()));
  const Response response = Await(*transport, {.body = "closes"}, Patient());
  ASSERT_FALSE(response);
  EXPECT_TRUE(response.error().maybe_sent);
  EXPECT_FALSE(response.error().timed_out);
  EXPECT_TRUE(Await(*transport, {.body = "x"}, Patient()));
}

TEST_P(WaitingCallerTest, LongBodiesPassBothWays) {
  LoopbackServer server(Echo);
  const auto transport = Connect(server);
  for (const std::size_t size :
       {std::size_t{16 * 1024}, std::size_t{16 * 1024 + 1}, std::size_t{9 << 20}}) {
    std::string body(size, 'x');
    body.back() = 'y';
    const Response response = Await(*transport, {.body = body}, Patient());
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_TRUE(response->body == body) << size << " bytes";
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST_P(WaitingCallerTest, WaitingAndCallbackCallersShareTheConnections) {
  constexpr int kThreads = 6, kCalls = 300;
  LoopbackServer server(Echo);
  TransportOptions options = Options(server);
  options.max_connections = 4;
  const auto transport = Connect(options);
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kCalls; ++i) {
          const std::string body = std::to_string(thread * kCalls + i);
          const Response response = thread % 2 == 0
                                        ? Await(*transport, {.body = body}, Patient())
                                        : Start(*transport, {.body = body}, Patient()).get();
          if (response && response->body == body) ++good;
        }
      });
    }
  }
  EXPECT_EQ(good, kThreads * kCalls);
  EXPECT_LE(server.connections(), 4);
}

INSTANTIATE_TEST_SUITE_P(Transports, WaitingCallerTest, testing::Values(kAwaitedSockets, kCrt),
                         KindName);

}  // namespace
}  // namespace weir
