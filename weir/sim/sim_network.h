// A simulated network that delays, loses, duplicates and reorders requests, in simulated time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weir/aws/http/http.h"
#include "weir/base/time.h"
#include "weir/runtime/scheduler.h"
#include "weir/sim/sim_server.h"

namespace weir::sim {

enum class NetworkFault {
  kNone,
  kRefuse,        ///< no connection: not sent
  kLoseRequest,   ///< sent, never arrives
  kLoseResponse,  ///< applied; the response never arrives
  kDuplicate,     ///< arrives twice, at two instants; the first response is passed on
  kFailBefore,    ///< status 500, not applied
  kFailAfter,     ///< status 500, applied
  kThrottle,      ///< ThrottlingException, not applied
  kStray,  ///< the sender sees a broken connection; the request arrives up to longest_stray later
};

/// Probabilities. At most one of the faults from `refuse` to `stray` happens to a request, so the
/// sum of these must not exceed 1. Each request makes the same draws, whatever their values.
struct NetworkFaults {
  double refuse = 0;
  double lose_request = 0;
  double lose_response = 0;
  double duplicate = 0;
  double fail_before = 0;
  double fail_after = 0;
  double throttle = 0;
  double stray = 0;
  nanoseconds longest_stray{0};
  /// The probability that a request takes up to longest_tail longer.
  double tail = 0;
  nanoseconds longest_tail{0};
  bool down = false;         ///< refuses every request
  bool only_writes = false;  ///< requests that only read have none of the faults up to `stray`
  /// Each direction takes a drawn time between these bounds: requests and responses overtake each
  /// other.
  nanoseconds shortest_trip{0};
  nanoseconds longest_trip{0};
  /// The server carries out requests one after the other and takes this time for each, so it serves
  /// 1 / service_time of them in a second. 0: it serves all at once.
  nanoseconds service_time{0};
  /// The fraction of the lost requests and responses that end only at their deadline. The others,
  /// and all without a deadline, end as a broken connection after one more trip.
  double silence = 0.5;
};

/// Counts how often each fault happened: tests assert that it did.
struct NetworkCounts {
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;
  std::uint64_t lost_requests = 0;
  std::uint64_t lost_responses = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t failed_before = 0;
  std::uint64_t failed_after = 0;
  std::uint64_t throttled = 0;
  std::uint64_t strays = 0;
  std::uint64_t tails = 0;
  std::uint64_t timed_out = 0;  ///< ended at their deadline, lost ones included
  std::uint64_t reordered = 0;  ///< arrived after a request that was sent later
  std::uint64_t late = 0;       ///< reached the server after the sender had got a result

  NetworkCounts& operator+=(const NetworkCounts& other);
};

/// The connection of one client to one server. Scheduler and server must outlive it and its last
/// task. Not thread-safe. No request waits for a connection. Every callback runs as a task of the
/// scheduler, never before Send returns. If this is destroyed, requests in flight are still
/// delivered and their callbacks still run.
class SimTransport final : public HttpTransport {
 public:
  SimTransport(Scheduler& scheduler, SimServer& server, std::uint64_t seed);
  ~SimTransport() override;
  void Send(HttpRequest request, SendLimits limits, HttpDone done) override;

  /// The nth request with this operation (from 1, counted since construction; an empty name counts
  /// all requests) gets this fault instead of a drawn one.
  void Script(std::string operation, std::uint64_t nth, NetworkFault fault);

  /// May be changed between requests.
  NetworkFaults faults;
  const NetworkCounts& counts() const;
  /// Returns the number of scripted faults that have not happened yet: tests assert that it is 0.
  std::size_t scripted() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace weir::sim
