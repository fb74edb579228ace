#include "weir/transport/http1/admin_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weir/base/rng.h"

namespace weir::transport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class AdminConnectionTest : public testing::Test {
 protected:
  /// Passes bytes, and returns all output, which counts as sent.
  std::string Exchange(std::string_view bytes) {
    connection_.Receive(bytes, now_);
    return TakeOutput();
  }
  std::string TakeOutput() {
    std::string all;
    while (!connection_.Output().empty()) {
      const std::string part(connection_.Output());
      all += part;
      connection_.OnSent(part.size(), now_);
    }
    return all;
  }

  Instant now_{1'000'000'000'000};
  std::vector<std::string> asked_;
  std::string authorization_;
  AdminOptions options_{.max_head_bytes = 200};
  AdminHandler handler_ = [this](const AdminRequest& request) {
    asked_.push_back(std::string(request.method) + " " + std::string(request.target));
    authorization_ = request.authorization;
    if (request.target == "/metrics") return AdminResponse{.body = "a 1\n"};
    if (request.target == "/secret") return AdminResponse{.status = 401, .body = "a token\n"};
    return AdminResponse{.status = 404, .body = "not found\n"};
  };
  AdminConnection connection_{handler_, options_, now_};
};

// Fails if: the requests that wait are not bounded. The session reads on between the pages.
TEST_F(AdminConnectionTest, RequestsThatWaitForEarlierPagesAreBounded) {
  std::string requests;
  while (requests.size() < 8'000) requests += "GET /m HTTP/1.1\r\nhost: a\r\n\r\n";
  std::string output;
  int reads = 0;
  while (output.find("429 Too Many Requests") == output.npos && reads < 100) {
    output = Exchange(requests);
    ++reads;
  }
  EXPECT_LE(reads, 10);
  EXPECT_THAT(output, HasSubstr("connection: close"));
  EXPECT_TRUE(connection_.IsDone());
}

TEST_F(AdminConnectionTest, AGetHasTheResponseOfTheHandler) {
  EXPECT_EQ(Exchange("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"),
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 4\r\n"
            "cache-control: no-store\r\n\r\na 1\n");
  EXPECT_THAT(asked_, ElementsAre("GET /metrics"));
  EXPECT_FALSE(connection_.IsDone());
}

TEST_F(AdminConnectionTest, AHeadHasTheHeadersOfAGetAndNoBody) {
  const std::string get = Exchange("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string head = Exchange("HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(head + "a 1\n", get);
}

TEST_F(AdminConnectionTest, TheHandlerGetsTheAuthorization) {
  Exchange("GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization:  Bearer t \r\n\r\n");
  EXPECT_EQ(authorization_, "Bearer t");
  Exchange("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(authorization_, "");
}

// Fails if: of two headers the one counts that a proxy in front did not look at.
TEST_F(AdminConnectionTest, TwoAuthorizationsAreNone) {
  authorization_ = "before";
  Exchange(
      "GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t\r\nAuthorization: Bearer "
      "u\r\n\r\n");
  EXPECT_EQ(authorization_, "");
}

TEST_F(AdminConnectionTest, AResponseThatWantsATokenSaysSo) {
  EXPECT_EQ(
      Exchange("GET /secret HTTP/1.1\r\nHost: a\r\n\r\n"),
      "HTTP/1.1 401 Unauthorized\r\ncontent-type: text/plain; charset=utf-8\r\n"
      "content-length: 8\r\ncache-control: no-store\r\nwww-authenticate: Bearer\r\n\r\na token\n");
}

TEST_F(AdminConnectionTest, AnUnknownTargetIsNotFoundAndTheConnectionIsKept) {
  EXPECT_THAT(Exchange("GET /x?y HTTP/1.1\r\nHost: a\r\n\r\n"),
              StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(asked_, ElementsAre("GET /x?y"));
  EXPECT_FALSE(connection_.IsDone());
}

TEST_F(AdminConnectionTest, ARefusedRequestDoesNotReachTheHandlerAndEndsTheConnection) {
  struct Case {
    std::string request;
    const char* line;
  };
  for (const auto& [request, line] :
       {Case{"POST /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "405 Method Not Allowed"},
        Case{"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "405 Method Not Allowed"},
        Case{"GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", "413"},
        Case{"GET /metrics HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "413"},
        Case{"GET /metrics HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"
             "GET /x HTTP/1.1\r\nHost: a\r\n\r\n",
             "413"},
        Case{"GET /metrics HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", "413"},
        Case{"GET /metrics HTTP/1.1\r\n\r\n", "400 Bad Request"},
        Case{"GET /metrics HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400 Bad Request"},
        Case{"GET /metrics\r\n\r\n", "400 Bad Request"},
        Case{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400 Bad Request"},
        Case{"GET / HTTP/1.1\r\nHost: " + std::string(300, 'a'), "431"},
        Case{"GET / HTTP/1.1\r\nHost: " + std::string(300, 'a') + "\r\n\r\n", "431"},
        Case{std::string(201, 'x'), "431"}}) {
    AdminConnection connection(handler_, options_, now_);
    connection.Receive(request, now_);
    const std::string output(connection.Output());
    EXPECT_THAT(output, StartsWith(std::string("HTTP/1.1 ") + line)) << request;
    EXPECT_THAT(output, HasSubstr("connection: close\r\n"));
    EXPECT_EQ(output.contains("allow: GET, HEAD\r\n"), std::string(line).starts_with("405"));
    EXPECT_FALSE(connection.IsDone()) << "the response was not sent yet";
    connection.OnSent(output.size(), now_);
    EXPECT_TRUE(connection.IsDone());
  }
  EXPECT_TRUE(asked_.empty());
}

TEST_F(AdminConnectionTest, RequestsAreServedHoweverTheirBytesAreCut) {
  const std::string bytes =
      "GET /a HTTP/1.1\r\nHost: a\r\n\r\n\r\nHEAD /b HTTP/1.1\r\nHost: a\r\n\r\n"
      "GET /c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /d HTTP/1.1\r\n\r\n";
  Rng rng(3);
  SCOPED_TRACE("seed 3");
  for (int round = 0; round < 200; ++round) {
    asked_.clear();
    AdminConnection connection(handler_, options_, now_);
    for (std::size_t at = 0; at < bytes.size();) {
      const auto size = static_cast<std::size_t>(rng.Between(1, 40));
      connection.Receive(std::string_view(bytes).substr(at, size), now_);
      at += size;
      while (!connection.Output().empty()) {
        connection.OnSent(connection.Output().size(), now_);
        if (connection.wake() <= now_) connection.OnTime(now_);
      }
    }
    ASSERT_THAT(asked_, ElementsAre("GET /a", "HEAD /b", "GET /c")) << round;
    ASSERT_TRUE(connection.IsDone());
  }
}

// Fails if: requests that arrive together are served in one turn of the loop.
TEST_F(AdminConnectionTest, ARequestWaitsUntilThePreviousResponseIsSentAndTheLoopHadItsTurn) {
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
  connection_.Receive(request + request, now_);
  EXPECT_EQ(asked_.size(), 1U);
  connection_.OnSent(1, now_);
  EXPECT_EQ(asked_.size(), 1U);
  connection_.OnSent(connection_.Output().size(), now_);
  EXPECT_EQ(asked_.size(), 1U);
  EXPECT_EQ(connection_.wake(), now_);
  connection_.OnTime(now_);
  EXPECT_EQ(asked_.size(), 2U);
  EXPECT_GT(connection_.wake(), now_);
}

TEST_F(AdminConnectionTest, AConnectionOfHttp10IsClosedAfterTheResponse) {
  EXPECT_THAT(Exchange("GET /metrics HTTP/1.0\r\n\r\n"), HasSubstr("connection: close\r\n"));
  EXPECT_TRUE(connection_.IsDone());
}

TEST_F(AdminConnectionTest, AHeadThatIsNotCompleteInTimeIsRefused) {
  EXPECT_EQ(connection_.wake(), now_ + options_.head_timeout);
  connection_.Receive("GET /", now_);
  now_ = now_ + std::chrono::seconds(1);
  connection_.Receive("met", now_);  // does not give it more time
  now_ = connection_.wake();
  connection_.OnTime(now_);
  EXPECT_THAT(TakeOutput(), StartsWith("HTTP/1.1 408 Request Timeout\r\n"));
  EXPECT_TRUE(connection_.IsDone());
}

// Fails if: empty lines keep a connection for ever.
TEST_F(AdminConnectionTest, EmptyLinesDoNotGiveAHeadMoreTime) {
  connection_.Receive("\r\n", now_);
  const Instant deadline = connection_.wake();
  now_ = now_ + std::chrono::seconds(9);
  connection_.Receive("\r\n", now_);
  EXPECT_EQ(connection_.wake(), deadline);
  connection_.OnTime(deadline);
  EXPECT_TRUE(connection_.IsDone());
}

TEST_F(AdminConnectionTest, AnIdleConnectionIsClosedSilently) {
  Exchange("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(connection_.wake(), now_ + options_.idle_timeout);
  now_ = connection_.wake();
  connection_.OnTime(now_);
  EXPECT_TRUE(connection_.Output().empty());
  EXPECT_TRUE(connection_.IsDone());
}

// Fails if: a peer that takes a byte from time to time keeps a connection of the listener.
TEST_F(AdminConnectionTest, AResponseThatIsTakenTooSlowlyEndsTheConnection) {
  connection_.Receive("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", now_);
  const Instant deadline = now_ + options_.response_timeout;
  now_ = now_ + std::chrono::seconds(59);
  connection_.OnSent(1, now_);
  EXPECT_EQ(connection_.wake(), deadline);
  connection_.OnTime(now_);
  EXPECT_FALSE(connection_.IsDone());
  connection_.OnTime(deadline);
  EXPECT_TRUE(connection_.IsDone());
  EXPECT_FALSE(connection_.Output().empty());
}

TEST_F(AdminConnectionTest, ADrainEndsTheConnectionAfterTheResponse) {
  connection_.Receive("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", now_);
  connection_.Drain(now_);
  EXPECT_FALSE(connection_.IsDone());
  EXPECT_THAT(TakeOutput(), HasSubstr("a 1\n"));
  EXPECT_TRUE(connection_.IsDone());
}

}  // namespace
}  // namespace weir::transport
