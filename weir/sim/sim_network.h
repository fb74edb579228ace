// A network that a seed makes slow, lossy and unfair, in simulated time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weir/aws/http.h"
#include "weir/base/time.h"
#include "weir/runtime/scheduler.h"
#include "weir/sim/sim_server.h"

namespace weir::sim {

enum class NetworkFault {
  kNone,
  kRefuse,       ///< no connection: surely not sent
  kLoseRequest,  ///< sent, never arrives
  kLoseAnswer,   ///< applied, the answer never arrives
  kDuplicate,    ///< arrives twice, at two instants; the first answer is passed on
  kFailBefore,   ///< status 500, not applied
  kFailAfter,    ///< status 500, applied
  kThrottle,     ///< ThrottlingException, not applied
  kStray,        ///< the sender hears of a broken connection; it arrives up to longest_stray later
};

/// Probabilities: a request meets at most one of them, so their sum must be at most 1. Whatever is
/// set, each request draws the same number of times.
struct NetworkFaults {
  double refuse = 0;
  double lose_request = 0;
  double lose_answer = 0;
  double duplicate = 0;
  double fail_before = 0;
  double fail_after = 0;
  double throttle = 0;
  double stray = 0;
  nanoseconds longest_stray{0};
  /// Of the requests, the part that is on its way for up to longest_tail more.
  double tail = 0;
  nanoseconds longest_tail{0};
  bool down = false;         ///< refuse everything
  bool only_writes = false;  ///< what only reads meets none of the faults
  /// Each way takes a time of its own between these, so requests and answers overtake each other.
  nanoseconds shortest_trip{0};
  nanoseconds longest_trip{0};
  /// Of what is lost, the part that ends at its limit without a word; the rest, and everything
  /// without a limit, ends as a broken connection after one more trip.
  double silence = 0.5;
};

/// How often each of them happened: a test asserts that they did.
struct NetworkCounts {
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;
  std::uint64_t lost_requests = 0;
  std::uint64_t lost_answers = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t failed_before = 0;
  std::uint64_t failed_after = 0;
  std::uint64_t throttled = 0;
  std::uint64_t strays = 0;
  std::uint64_t tails = 0;
  std::uint64_t timed_out = 0;  ///< answered at the limit, lost ones among them
  std::uint64_t reordered = 0;  ///< arrived after a request that was sent later
  std::uint64_t late = 0;       ///< reached the server after its sender had given up

  NetworkCounts& operator+=(const NetworkCounts& other);
};

/// The way of one client to one server. Scheduler and server must outlive it and its last task.
/// Not thread-safe. No request waits for a connection. Every answer comes as a task of the
/// scheduler, none before Send returns. What was under way when this is destroyed is still
/// delivered and answered.
class SimTransport final : public HttpTransport {
 public:
  SimTransport(Scheduler& scheduler, SimServer& server, std::uint64_t seed);
  ~SimTransport() override;
  void Send(HttpRequest request, SendLimits limits, HttpDone done) override;

  /// The nth request with this operation (the first is 1, counted since construction; an empty
  /// name counts all) meets this fault instead of a drawn one.
  void Script(std::string operation, std::uint64_t nth, NetworkFault fault);

  /// May be changed between requests.
  NetworkFaults faults;
  const NetworkCounts& counts() const;
  /// Scripted faults that have not been met yet: a test asserts that there are none.
  std::size_t scripted() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace weir::sim
