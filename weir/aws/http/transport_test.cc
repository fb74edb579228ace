#include "weir/aws/http/crt_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <future>
#include <latch>
#include <semaphore>
#include <set>
#include <thread>

#include "weir/aws/testing/client_sockets_fixture.h"
#include "weir/aws/testing/tls_server_fixture.h"
#include "weir/aws/testing/transport_fixture.h"
#include "weir/base/testing/temp_folder_fixture.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_P(TransportTest, SendsTheRequestAndBringsTheAnswer) {
  LoopbackServer server([](const SeenRequest&) {
    return ScriptedReply{.bytes =
                             "HTTP/1.1 400 Bad Request\r\nX-Amzn-ErrorType: Oops\r\n"
                             "content-length: 5\r\n\r\nwrong"};
  });
  const auto transport = Connect(server);
  const Response response = Ask(*transport, {.method = "PUT",
                                             .path = "/a%20b?c=d",
                                             .headers = {{"x-amz-target", "T.Op"}},
                                             .body = "hello"});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 400);
  EXPECT_EQ(response->body, "wrong");
  EXPECT_EQ(response->headers,
            (std::vector<HttpHeader>{{"x-amzn-errortype", "Oops"}, {"content-length", "5"}}));
  const auto seen = server.seen();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_THAT(seen[0].head, HasSubstr("PUT /a%20b?c=d HTTP/1.1\r\n"));
  EXPECT_THAT(seen[0].head, HasSubstr("x-amz-target: T.Op"));
  EXPECT_THAT(seen[0].head, HasSubstr("host: 127.0.0.1:" + std::to_string(server.port())));
  EXPECT_EQ(seen[0].body, "hello");
}

// Fails if: a request without a response ends only at its deadline.
TEST_P(TransportTest, OneThatGivesUpEndsItsRequestsAndBeginsNone) {
  LoopbackServer server(Silence);
  std::atomic<bool> gives_up = false;
  TransportOptions options = Options(server);
  options.gives_up = [&gives_up] { return gives_up.load(); };
  const auto transport = Connect(options);
  std::future<Response> waiting = Start(*transport, {.body = "x"});
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  gives_up = true;
  ASSERT_EQ(waiting.wait_for(kPatience / 3), std::future_status::ready);
  const Response ended = waiting.get();
  ASSERT_FALSE(ended);
  EXPECT_TRUE(ended.error().timed_out);
  EXPECT_TRUE(ended.error().maybe_sent);
  const Response later = Ask(*transport, {.body = "y"});
  ASSERT_FALSE(later);
  EXPECT_FALSE(later.error().maybe_sent);
  EXPECT_EQ(server.seen().size(), 1U);
}

TEST_P(TransportTest, AHostHeaderThatIsThereStays) {
  LoopbackServer server(Echo);
  const auto transport = Connect(server);
  ASSERT_TRUE(Ask(*transport, {.headers = {{"host", "signed.example"}}, .body = "x"}));
  EXPECT_THAT(server.seen()[0].head, HasSubstr("host: signed.example"));
  EXPECT_THAT(server.seen()[0].head, Not(HasSubstr("127.0.0.1")));
}

TEST_P(TransportTest, AnAnswerInChunksIsJoined) {
  LoopbackServer server([](const SeenRequest&) {
    return ScriptedReply{.bytes =
                             "HTTP/1.1 100 Continue\r\nX-Not: this\r\n\r\n"
                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                             "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"};
  });
  const auto transport = Connect(server);
  const Response response = Ask(*transport, {});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "abcde");
  EXPECT_EQ(response->Header("x-not"), nullptr);
}

TEST_P(TransportTest, ManyRequestsShareTheConnectionsAndEachGetsItsOwnAnswer) {
  constexpr int kRequests = 400;
  LoopbackServer server(Echo);
  TransportOptions options = Options(server);
  options.max_connections = 8;
  const auto transport = Connect(options);
  std::vector<std::future<Response>> responses;
  for (int i = 0; i < kRequests; ++i) {
    responses.push_back(Start(*transport, {.body = std::to_string(i)}));
  }
  for (int i = 0; i < kRequests; ++i) {
    const Response response = responses[static_cast<std::size_t>(i)].get();
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, std::to_string(i));
  }
  EXPECT_LE(server.connections(), 8);
  EXPECT_EQ(server.seen().size(), static_cast<std::size_t>(kRequests));
}

// Fails if: the client waits for the response until the request's limit, or for a body of the
// announced length.
TEST_P(TransportTest, AResponseWithoutBodyWaitsForNone) {
  LoopbackServer server([](const SeenRequest& request) {
    const bool is_head = request.head.starts_with("HEAD");
    return ScriptedReply{.bytes = is_head ? "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"
                                          : "HTTP/1.1 204 No Content\r\n\r\n"};
  });
  const auto transport = Connect(server);
  for (const std::string method : {"HEAD", "POST", "HEAD"}) {
    const Response response = Ask(*transport, {.method = method});
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, "");
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST_P(TransportTest, AConnectionIsUsedAgain) {
  LoopbackServer server(Echo);
  const auto transport = Connect(server);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Ask(*transport, {.body = "x"}));
  EXPECT_EQ(server.connections(), 1);
}

TEST_P(TransportTest, AServerThatClosesBetweenRequestsNeverGetsOneTwice) {
  LoopbackServer server([](const SeenRequest& request) {
    return ScriptedReply{.bytes = Ok(request.body), .close = true};
  });
  const auto transport = Connect(server);
  std::set<std::string> unsent;
  int completed = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string id = std::to_string(i);
    const Response response = Ask(*transport, {.body = id});
    completed += response.has_value() ? 1 : 0;
    if (!response && !response.error().maybe_sent) unsent.insert(id);
  }
  std::set<std::string> seen;
  for (const SeenRequest& request : server.seen()) {
    EXPECT_TRUE(seen.insert(request.body).second) << request.body << " came twice";
    EXPECT_FALSE(unsent.contains(request.body)) << request.body << " was said not to be sent";
  }
  // It is chance whether the close is noticed before the next request; no close precedes the first.
  EXPECT_GE(completed, 1);
}

TEST_P(TransportTest, ARequestThatWasReadButNotAnsweredMayHaveBeenSentAndIsNotRepeated) {
  LoopbackServer server([](const SeenRequest& request) {
    return request.body == "second" ? ScriptedReply{.close = true} : Echo(request);
  });
  const auto transport = Connect(server);
  ASSERT_TRUE(Ask(*transport, {.body = "first"}));
  const Response second = Ask(*transport, {.body = "second"});
  ASSERT_FALSE(second);
  EXPECT_TRUE(second.error().maybe_sent);
  EXPECT_FALSE(second.error().timed_out);
  EXPECT_EQ(server.seen().size(), 2U);
  EXPECT_TRUE(Ask(*transport, {.body = "third"}));
}

TEST_P(TransportTest, NobodyListensSoNothingWasSent) {
  const std::uint16_t port = ClosedPort();
  const auto transport = Connect({.host = "127.0.0.1", .port = port, .tls = false});
  const Response response = Ask(*transport, {.body = "x"});
  ASSERT_FALSE(response);
  EXPECT_FALSE(response.error().maybe_sent);
  EXPECT_FALSE(response.error().timed_out);
  EXPECT_THAT(response.error().message, HasSubstr("127.0.0.1:" + std::to_string(port)));
  EXPECT_THAT(response.error().message, Not(HasSubstr("\n")));
}

TEST_P(TransportTest, ASilentServerIsWaitedForUntilTheDeadline) {
  LoopbackServer server([](const SeenRequest& request) {
    return request.body == "loud" ? Echo(request) : ScriptedReply{};
  });
  const auto transport = Connect(server);
  // Makes a connection, so that the next request is sent although its time is short.
  ASSERT_TRUE(Ask(*transport, {.body = "loud"}));
  const Response response = Ask(*transport, {.body = "x"}, kShort);
  ASSERT_FALSE(response);
  EXPECT_TRUE(response.error().timed_out);
  EXPECT_TRUE(response.error().maybe_sent);
}

TEST_P(TransportTest, ARequestThatFoundNoConnectionByItsDeadlineWasNotSent) {
  std::latch go(1);
  LoopbackServer server([&go](const SeenRequest& request) {
    go.wait();
    return Echo(request);
  });
  TransportOptions options = Options(server);
  options.max_connections = 1;
  const auto transport = Connect(options);
  std::future<Response> first = Start(*transport, {.body = "first"});
  const Response second = Ask(*transport, {.body = "second"}, kShort);
  go.count_down();
  ASSERT_FALSE(second);
  EXPECT_TRUE(second.error().timed_out);
  EXPECT_FALSE(second.error().maybe_sent);
  EXPECT_TRUE(first.get());
  // The next request uses the connection that the second one did not use.
  EXPECT_TRUE(Ask(*transport, {.body = "third"}));
  ASSERT_EQ(server.seen().size(), 2U);
  EXPECT_EQ(server.seen()[1].body, "third");
}

TEST_P(TransportTest, WhatWaitsForAConnectionHasItsTimeStillBeforeIt) {
  constexpr int kRequests = 20;
  constexpr nanoseconds kWithin = milliseconds(500);
  std::latch go(1);
  LoopbackServer server([&go](const SeenRequest& request) {
    go.wait();
    return Echo(request);
  });
  LoopbackServer silent(Silence);
  TransportOptions options = Options(server);
  options.max_connections = 1;
  const auto transport = Connect(options);
  std::future<Response> holder = Start(*transport, {.body = "holds the connection"});
  std::vector<std::future<Response>> waiting;
  for (int i = 0; i < kRequests; ++i) {
    waiting.push_back(Start(*transport, {.body = std::to_string(i)}, CompletedWithin(kWithin)));
  }
  // By then each request has waited longer than its response may take.
  const Response timer = Ask(*Connect(silent), {.body = "x"}, kWithin);
  go.count_down();
  EXPECT_TRUE(timer.error().timed_out);
  EXPECT_TRUE(holder.get());
  for (std::future<Response>& late : waiting) {
    const Response response = late.get();
    EXPECT_TRUE(response) << response.error().message;
  }
  EXPECT_EQ(server.seen().size(), kRequests + 1U);
}

TEST_P(TransportTest, WhatHasAConnectionHasNoMoreThanItsTime) {
  LoopbackServer server(Silence);
  const auto transport = Connect(server);
  const Instant begin = clock_.Now();
  const Response response = Start(*transport, {.body = "x"}, CompletedWithin(kShort)).get();
  EXPECT_LT(clock_.Now() - begin, kPatience / 2) << "the deadline ended it";
  ASSERT_FALSE(response);
  EXPECT_TRUE(response.error().timed_out);
  EXPECT_TRUE(response.error().maybe_sent);
  EXPECT_THAT(response.error().message, HasSubstr("no response in time"));
}

TEST_P(TransportTest, WhatCouldNotBeginInTimeIsNeverSent) {
  std::latch go(1);
  LoopbackServer server([&go](const SeenRequest& request) {
    go.wait();
    return Echo(request);
  });
  TransportOptions options = Options(server);
  options.max_connections = 1;
  const auto transport = Connect(options);
  std::future<Response> holder = Start(*transport, {.body = "holds the connection"});
  SendLimits limits = CompletedWithin(kPatience);
  limits.begin_by = Deadline::After(clock_, kShort);
  const Response response = Start(*transport, {.body = "x"}, limits).get();
  go.count_down();
  ASSERT_FALSE(response);
  EXPECT_TRUE(response.error().timed_out);
  EXPECT_FALSE(response.error().maybe_sent);
  EXPECT_THAT(response.error().message, HasSubstr("no connection in time"));
  EXPECT_TRUE(holder.get());
  EXPECT_TRUE(Ask(*transport, {.body = "last"}));
  EXPECT_EQ(server.seen().size(), 2U);
}

TEST_P(TransportTest, MoreWaitingThanTheBoundFailAtOnce) {
  std::latch go(1);
  std::counting_semaphore<> arrived(0);
  LoopbackServer server([&](const SeenRequest& request) {
    arrived.release();
    go.wait();
    return Echo(request);
  });
  TransportOptions options = Options(server);
  options.max_connections = 1;
  options.max_waiting = 2;
  const auto transport = Connect(options);
  std::vector<std::future<Response>> responses;
  responses.push_back(Start(*transport, {.body = "x"}));
  // Until the connection is made, the first request waits as well.
  arrived.acquire();
  for (int i = 0; i < 5; ++i) responses.push_back(Start(*transport, {.body = "x"}));
  const Response last = responses.back().get();
  ASSERT_FALSE(last);
  EXPECT_FALSE(last.error().maybe_sent);
  EXPECT_FALSE(last.error().timed_out);
  go.count_down();
}

TEST_P(TransportTest, ADeadlineThatHasPassedAnswersBeforeSendReturns) {
  LoopbackServer server(Echo);
  const auto transport = Connect(server);
  std::future<Response> response = Start(*transport, {.body = "x"}, nanoseconds(0));
  ASSERT_TRUE(IsReady(response));
  const Response failed = response.get();
  ASSERT_FALSE(failed);
  EXPECT_TRUE(failed.error().timed_out);
  EXPECT_FALSE(failed.error().maybe_sent);
  EXPECT_EQ(server.connections(), 0);
}

TEST_P(TransportTest, ATruncatedAnswerIsNone) {
  LoopbackServer server([](const SeenRequest&) {
    return ScriptedReply{.bytes = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort",
                         .close = true};
  });
  const auto transport = Connect(server);
  const Response response = Ask(*transport, {.body = "x"});
  ASSERT_FALSE(response);
  EXPECT_TRUE(response.error().maybe_sent);
}

TEST_P(TransportTest, AnAnswerOverTheBoundIsRefused) {
  LoopbackServer server(Echo);
  TransportOptions options = Options(server);
  options.max_response_bytes = 10;
  const auto transport = Connect(options);
  EXPECT_TRUE(Ask(*transport, {.body = std::string(10, 'x')}));
  const Response response = Ask(*transport, {.body = std::string(11, 'x')});
  ASSERT_FALSE(response);
  EXPECT_TRUE(response.error().maybe_sent);
  EXPECT_THAT(response.error().message, HasSubstr("longer than 10 bytes"));
}

TEST_P(TransportTest, WhatIsNotHttpIsNoAnswer) {
  LoopbackServer server(
      [](const SeenRequest&) { return ScriptedReply{.bytes = "220 mail.example ready\r\n"}; });
  const auto transport = Connect(server);
  const Response response = Ask(*transport, {.body = "x"});
  ASSERT_FALSE(response);
  EXPECT_TRUE(response.error().maybe_sent);
}

TEST_P(TransportTest, AServerThatDoesNotShakeHandsGetsNoRequest) {
  LoopbackServer server(Silence);
  TransportOptions options = Options(server);
  options.tls = true;
  options.connect_timeout = std::chrono::duration_cast<milliseconds>(kShort);
  const auto transport = Connect(options);
  const Response response = Ask(*transport, {.body = "secret"});
  ASSERT_FALSE(response);
  EXPECT_FALSE(response.error().maybe_sent);
  EXPECT_FALSE(response.error().timed_out);
  EXPECT_TRUE(server.seen().empty());
}

// There is no test without this option: the failure takes half a minute, because the runtime delays
// it for a bad certificate.
TEST_P(TransportTest, ACertificateThatNobodyVouchesForIsBelievedIfToldTo) {
  SelfSignedServer server;
  const TransportOptions options{.host = "127.0.0.1", .port = server.port()};
  const auto believing = CrtRuntime::Start({.verify_certificate = false});
  ASSERT_TRUE(believing) << believing.error().message;
  const auto transport = Make(options, **believing);
  ASSERT_TRUE(transport) << transport.error().message;
  const Response response = Ask(**transport, {.body = "hello"});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "ok");
}

TEST_P(TransportTest, ACertificateOfATrustedFileIsAccepted) {
  SelfSignedServer server;
  const TempFolder folder;
  const std::string file = folder / "authority.pem";
  std::ofstream(file) << server.certificate();
  const auto trusting = CrtRuntime::Start({.ca_file = file});
  ASSERT_TRUE(trusting) << trusting.error().message;
  const auto transport = Make({.host = "localhost", .port = server.port()}, **trusting);
  ASSERT_TRUE(transport) << transport.error().message;
  const Response response = Ask(**transport, {.body = "hello"});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "ok");
}

TEST_P(TransportTest, AProxyForwardsPlainRequests) {
  LoopbackServer proxy(Echo);
  const HttpProxy login{
      .host = "127.0.0.1", .port = proxy.port(), .user = "user", .password = "pass"};
  const auto transport =
      Connect({.host = "service.invalid", .port = 4567, .tls = false, .proxy = login});
  const Response response = Ask(*transport, {.method = "PUT", .path = "/a", .body = "hello"});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "hello");
  ASSERT_EQ(proxy.seen().size(), 1U);
  EXPECT_THAT(proxy.seen()[0].head, HasSubstr("PUT http://service.invalid:4567/a HTTP/1.1\r\n"));
  EXPECT_THAT(proxy.seen()[0].head, HasSubstr("Basic dXNlcjpwYXNz")) << "user:pass in base64";
}

TEST_P(TransportTest, ATunnelThatTheProxyRefusesFailsTheRequestUnsent) {
  LoopbackServer proxy([](const SeenRequest&) {
    return ScriptedReply{.bytes = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n"};
  });
  const auto transport = Connect(
      {.host = "service.invalid",
       .proxy = HttpProxy{.host = "127.0.0.1", .port = proxy.port(), .user = {}, .password = {}}});
  const Response response = Ask(*transport, {.body = "secret"});
  ASSERT_FALSE(response);
  EXPECT_FALSE(response.error().maybe_sent);
  ASSERT_FALSE(proxy.seen().empty());
  EXPECT_THAT(proxy.seen()[0].head, HasSubstr("CONNECT service.invalid:443 HTTP/1.1\r\n"));
  EXPECT_THAT(proxy.seen()[0].body, Not(HasSubstr("secret")));
}

// Fails if (under tsan): the resolver's thread ends requests while the loop ends them by their
// limits.
TEST_P(TransportTest, RequestsToANameThatIsNotFoundFailUnsent) {
  const auto transport = Connect({.host = "service.invalid", .port = 80, .tls = false});
  std::vector<std::future<Response>> responses;
  for (int i = 0; i < 20; ++i) {
    responses.push_back(Start(*transport, {}, i % 2 == 0 ? milliseconds(i) : kPatience));
  }
  for (std::future<Response>& pending : responses) {
    const Response response = pending.get();
    ASSERT_FALSE(response);
    EXPECT_FALSE(response.error().maybe_sent);
  }
}

class ProxyVariablesTest : public TransportTest {
 protected:
  void TearDown() override {
    unsetenv("HTTPS_PROXY");
    unsetenv("NO_PROXY");
  }
  void Name(const LoopbackServer& proxy) const {
    setenv("HTTPS_PROXY", ("http://127.0.0.1:" + std::to_string(proxy.port())).c_str(), 1);
  }
};

TEST_P(ProxyVariablesTest, ATlsEndpointIsReachedThroughTheProxyThatTheyName) {
  LoopbackServer proxy([](const SeenRequest&) {
    return ScriptedReply{.bytes = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n"};
  });
  Name(proxy);
  EXPECT_FALSE(Ask(*Connect({.host = "service.invalid"}), {}));
  ASSERT_FALSE(proxy.seen().empty());
  EXPECT_THAT(proxy.seen()[0].head, HasSubstr("CONNECT service.invalid:443 HTTP/1.1\r\n"));
}

// Fails if: a host whose name begins like a loopback address is taken for this machine.
TEST_P(ProxyVariablesTest, AHostWhoseNameBeginsLikeALoopbackAddressIsReachedThroughIt) {
  LoopbackServer proxy([](const SeenRequest&) {
    return ScriptedReply{.bytes = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n"};
  });
  Name(proxy);
  EXPECT_FALSE(Ask(*Connect({.host = "127.service.invalid"}), {}));
  ASSERT_FALSE(proxy.seen().empty());
  EXPECT_THAT(proxy.seen()[0].head, HasSubstr("CONNECT 127.service.invalid:443 HTTP/1.1\r\n"));
}

TEST_P(ProxyVariablesTest, AnEndpointOnThisMachineAndAListedOneAreReachedWithoutIt) {
  LoopbackServer proxy(Echo);
  Name(proxy);
  SelfSignedServer server;
  const auto believing = CrtRuntime::Start({.verify_certificate = false});
  ASSERT_TRUE(believing) << believing.error().message;
  const auto transport = Make({.host = "127.0.0.1", .port = server.port()}, **believing);
  ASSERT_TRUE(transport) << transport.error().message;
  EXPECT_TRUE(Ask(**transport, {.body = "hello"}));
  setenv("NO_PROXY", "service.invalid", 1);
  EXPECT_FALSE(Ask(*Connect({.host = "service.invalid"}), {}));
  EXPECT_TRUE(proxy.seen().empty());
}

/// Promises that AWS's client does not make.
class SocketTransportTest : public TransportTest {};

// Fails if: a connection that the server closed while it was idle fails a request. (AWS's client
// notices the close in its loop, which may be too late.)
TEST_P(SocketTransportTest, AConnectionThatWasClosedWhileIdleFailsNoRequest) {
  LoopbackServer server([](const SeenRequest& request) {
    return ScriptedReply{.bytes = Ok(request.body), .close = true};
  });
  const auto transport = Connect(server);
  for (int i = 0; i < 30; ++i) {
    const Response response = Ask(*transport, {.body = "x"});
    ASSERT_TRUE(response) << response.error().message;
    while (!std::ranges::all_of(SocketsTo(server.port()), IsClosedByServer)) {
      std::this_thread::yield();
    }
  }
}

int TcpOption(int fd, int level, int name) {
  int value = -1;
  socklen_t size = sizeof(value);
  getsockopt(fd, level, name, &value, &size);
  return value;
}

// Fails if: an exception leaves MakeTransport.
TEST_P(SocketTransportTest, AThreadThatCannotBeStartedIsAnError) {
  pthread_attr_t before, huge;
  pthread_getattr_default_np(&before);
  pthread_attr_init(&huge);
  pthread_attr_setstacksize(&huge, std::size_t{1} << 46);
  pthread_setattr_default_np(&huge);
  const auto transport = Make({.host = "127.0.0.1", .tls = false});
  pthread_setattr_default_np(&before);
  ASSERT_FALSE(transport);
  EXPECT_EQ(transport.error().code, Code::kUnavailable);
  EXPECT_THAT(transport.error().message, HasSubstr("no thread for a loop of the network"));
}

// Fails if: only a request notices that an idle connection was cut silently.
TEST_P(TransportTest, D15IdleConnectionsAreProbed) {
  LoopbackServer server(Echo);
  const auto transport = Connect(server);
  ASSERT_TRUE(Ask(*transport, {.body = "x"}));
  const std::vector<int> sockets = SocketsTo(server.port());
  ASSERT_EQ(sockets.size(), 1U);
  EXPECT_EQ(TcpOption(sockets[0], SOL_SOCKET, SO_KEEPALIVE), 1);
  const int idle = TcpOption(sockets[0], IPPROTO_TCP, TCP_KEEPIDLE);
  const int every = TcpOption(sockets[0], IPPROTO_TCP, TCP_KEEPINTVL);
  const int failed = TcpOption(sockets[0], IPPROTO_TCP, TCP_KEEPCNT);
  EXPECT_EQ(idle + every * failed, 11) << "seconds until a dead connection is closed";
}

TEST_P(TransportTest, AHeaderThatWouldSmuggleAnotherIsRefusedUnsent) {
  LoopbackServer server(Echo);
  const auto transport = Connect(server);
  const Response response =
      Ask(*transport, {.headers = {{"x-name", "a\r\nx-other: b"}}, .body = "x"});
  ASSERT_FALSE(response);
  EXPECT_FALSE(response.error().maybe_sent);
  EXPECT_TRUE(server.seen().empty());
}

TEST_P(TransportTest, DestroyingATransportWaitsForItsRequests) {
  LoopbackServer server(Silence);
  auto transport = Connect(server);
  std::vector<std::future<Response>> responses;
  for (int i = 0; i < 5; ++i) responses.push_back(Start(*transport, {.body = "x"}, kShort));
  transport.reset();
  for (const auto& response : responses) EXPECT_TRUE(IsReady(response));
}

TEST_P(TransportTest, DestroyingATransportWithARequestBehindItsDeadlineInTheQueue) {
  LoopbackServer server(Silence);
  TransportOptions options = Options(server);
  options.max_connections = 1;
  auto transport = Connect(options);
  std::future<Response> holder = Start(*transport, {.body = "x"}, 3 * kShort);
  EXPECT_TRUE(Ask(*transport, {.body = "y"}, kShort).error().timed_out);
  transport.reset();
  EXPECT_TRUE(IsReady(holder));
}

TEST_P(TransportTest, AnEndpointThatCannotBeIsRefused) {
  EXPECT_EQ(Make({.host = ""}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(Make({.host = "h", .max_connections = 0}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(Make({.host = "h", .max_waiting = 0}).error().code, Code::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Transports, TransportTest, kTransports, KindName);
INSTANTIATE_TEST_SUITE_P(Transports, SocketTransportTest,
                         testing::Values(kSockets, kAwaitedSockets), KindName);
INSTANTIATE_TEST_SUITE_P(Transports, ProxyVariablesTest, kTransports, KindName);

}  // namespace
}  // namespace weir
