// Whichever system call fails, each request completes once, with a correct result, and later
// requests succeed.
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "weir/aws/testing/faulty_sockets_fixture.h"
#include "weir/aws/testing/transport_fixture.h"

namespace weir {
namespace {

constexpr std::size_t kMaxCalls = 2'000;

class SocketFaultsTest : public TransportTest {
 protected:
  /// The failures of requests; nothing for one that got a response.
  using Failures = std::vector<std::optional<HttpFailure>>;

  Failures Use(HttpTransport& transport, int requests) {
    Failures failures;
    for (int i = 0; i < requests; ++i) {
      const std::string body = std::to_string(i);
      const Response response = Ask(transport, {.body = body});
      EXPECT_EQ(response ? response->body : body, body);
      failures.push_back(response ? std::nullopt : std::optional(response.error()));
    }
    return failures;
  }
  /// Checks that each request was seen at most once, and not at all if it was reported as unsent.
  static void Check(const Failures& failures, const LoopbackServer& server) {
    std::multiset<std::string> seen;
    for (const SeenRequest& request : server.seen()) seen.insert(request.body);
    for (std::size_t i = 0; i < failures.size(); ++i) {
      const std::size_t count = seen.count(std::to_string(i));
      const bool surely_unsent = failures[i] && !failures[i]->maybe_sent;
      EXPECT_LE(count, surely_unsent ? 0U : 1U);
      EXPECT_GE(count, failures[i] ? 0U : 1U);
      EXPECT_FALSE(failures[i] && failures[i]->timed_out);
    }
  }
};

TEST_P(SocketFaultsTest, WhicheverCallFailsEachRequestHasOneHonestAnswer) {
  constexpr int kRequests = 4;
  std::size_t nth = 1;
  for (bool was_reached = true; was_reached; ++nth) {
    ASSERT_LT(nth, kMaxCalls);
    SCOPED_TRACE("call " + std::to_string(nth));
    LoopbackServer server(Echo);
    Failures failures;
    {
      std::optional<FaultySockets> faults(nth);
      const auto transport = Make(Options(server));
      if (!transport) {
        EXPECT_EQ(transport.error().code, Code::kUnavailable);
        continue;
      }
      failures = Use(**transport, kRequests);
      was_reached = faults->failed();
      faults.reset();
      const Response later = Ask(**transport, {.body = "later"});
      EXPECT_TRUE(later) << later.error().message;
    }
    const auto failed = std::ranges::count_if(failures, [](const auto& each) { return !!each; });
    EXPECT_LE(failed, 1) << "one fault, more failures";
    Check(failures, server);
  }
  // The test was effective: a connection and its requests make more calls than this.
  EXPECT_GT(nth, 10U);
}

INSTANTIATE_TEST_SUITE_P(Transports, SocketFaultsTest, testing::Values(kSockets, kAwaitedSockets),
                         KindName);

}  // namespace
}  // namespace weir
