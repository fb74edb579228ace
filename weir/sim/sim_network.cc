#include "weir/sim/sim_network.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "weir/sim/request_draws.h"

namespace weir::sim {
namespace {

HttpResponse InternalError() {
  return {.status = 500,
          .headers = {{"content-type", "application/x-amz-json-1.0"}},
          .body = R"({"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError",)"
                  R"("message":"Internal server error"})"};
}

HttpResponse Throttled() {
  return {.status = 400,
          .headers = {{"content-type", "application/x-amz-json-1.0"}},
          .body = R"({"__type":"com.amazon.coral.availability#ThrottlingException",)"
                  R"("message":"Rate exceeded"})"};
}

/// One request of the client. It ends with exactly one result.
struct Exchange {
  HttpDone done;
  std::optional<TimerId> deadline;
  bool completed = false;
};

}  // namespace

// The way of a request:
//
//   Send --> Dispatch --trip there--> Arrive --> Return --trip back--> Response
//               |                        |                               ^
//               +-- request lost: Break -+- response lost: Break --------+
//
// The deadline ends it earlier (TimeOut). A stray request and the second copy of a duplicate reach
// the server without a callback.
class SimTransport::State : public std::enable_shared_from_this<SimTransport::State> {
 public:
  State(Scheduler& its_scheduler, SimServer& server, std::uint64_t seed)
      : scheduler_(its_scheduler), server_(server), generator_(seed) {}

  void Send(HttpRequest request, SendLimits limits, HttpDone done,
            const NetworkFaults& request_faults) {
    ++counts.requests;
    const RequestDraws draws = generator_.Draw(request_faults, OperationOf(request));
    counts.tails += draws.has_tail ? 1 : 0;
    auto exchange = std::make_shared<Exchange>(Exchange{std::move(done), std::nullopt});
    const Deadline deadline = limits.DeadlineFrom(Now());
    if (limits.LatestBegin().ExpiredAt(Now())) {
      return After({}, [self = shared_from_this(), exchange] { self->TimeOut(*exchange, false); });
    }
    if (!deadline.is_never()) {
      exchange->deadline = scheduler_.At(
          deadline.at(), [self = shared_from_this(), exchange] { self->TimeOut(*exchange, true); });
    }
    service_time_ = request_faults.service_time;
    const bool silent = draws.is_silent && !deadline.is_never();
    Dispatch(std::move(request), draws, silent, exchange);
  }

  DrawGenerator& generator() { return generator_; }

  NetworkCounts counts;

 private:
  using Shared = std::shared_ptr<Exchange>;

  Instant Now() const { return scheduler_.clock().Now(); }

  template <class Work>
  void After(nanoseconds wait, Work work) {
    scheduler_.At(Now() + wait, std::move(work));
  }

  void Dispatch(HttpRequest request, const RequestDraws& draws, bool silent,
                const Shared& exchange) {
    if (draws.fault == NetworkFault::kRefuse) {
      ++counts.refused;
      return After(draws.request_delay, [self = shared_from_this(), exchange] {
        self->Respond(
            *exchange,
            tl::unexpected(HttpFailure{.message = "simulated network: connection refused"}));
      });
    }
    if (draws.fault == NetworkFault::kStray) {
      ++counts.strays;
      After(draws.request_delay + draws.stray_delay,
            [self = shared_from_this(), request] { self->server_.Handle(request); });
      return Break(draws, silent, exchange);
    }
    if (draws.fault == NetworkFault::kLoseRequest) {
      ++counts.lost_requests;
      return Break(draws, silent, exchange);
    }
    const std::uint64_t order = ++order_sent_;
    if (draws.fault == NetworkFault::kDuplicate) {
      ++counts.duplicates;
      After(draws.request_delay + draws.duplicate_delay,
            [self = shared_from_this(), request] { self->server_.Handle(request); });
    }
    After(draws.request_delay, [self = shared_from_this(), request = std::move(request), draws,
                                silent, exchange, order] {
      self->NoteArrival(order, *exchange);
      if (self->service_time_ == nanoseconds(0)) {
        return self->Arrive(request, draws, silent, exchange);
      }
      self->After(self->QueueAtServer(), [self, request, draws, silent, exchange] {
        self->Arrive(request, draws, silent, exchange);
      });
    });
  }

  /// Returns how long a request that arrives now is at the server until it has been carried out.
  nanoseconds QueueAtServer() {
    served_until_ = std::max(served_until_, Now()) + service_time_;
    return served_until_ - Now();
  }

  void NoteArrival(std::uint64_t order, const Exchange& exchange) {
    if (order < latest_arrival_) ++counts.reordered;
    latest_arrival_ = std::max(latest_arrival_, order);
    if (exchange.completed) ++counts.late;
  }

  void Arrive(const HttpRequest& request, const RequestDraws& draws, bool silent,
              const Shared& exchange) {
    switch (draws.fault) {
      case NetworkFault::kFailBefore:
        ++counts.failed_before;
        return Return(draws, exchange, InternalError());
      case NetworkFault::kThrottle:
        ++counts.throttled;
        return Return(draws, exchange, Throttled());
      case NetworkFault::kFailAfter:
        ++counts.failed_after;
        server_.Handle(request);
        return Return(draws, exchange, InternalError());
      case NetworkFault::kLoseResponse:
        ++counts.lost_responses;
        server_.Handle(request);
        return Break(draws, silent, exchange);
      default:
        return Return(draws, exchange, server_.Handle(request));
    }
  }

  void Return(const RequestDraws& draws, const Shared& exchange, HttpResponse response) {
    After(draws.response_delay,
          [self = shared_from_this(), exchange, response = std::move(response)] {
            self->Respond(*exchange, response);
          });
  }

  /// Reports a lost request or response to the client after one more trip. If `silent`, the
  /// deadline ends the request instead.
  void Break(const RequestDraws& draws, bool silent, const Shared& exchange) {
    if (silent) return;
    After(draws.response_delay, [self = shared_from_this(), exchange] {
      self->Respond(*exchange,
                    tl::unexpected(HttpFailure{.maybe_sent = true,
                                               .message = "simulated network: connection broken"}));
    });
  }

  void TimeOut(Exchange& exchange, bool maybe_sent) {
    if (exchange.completed) return;
    ++counts.timed_out;
    exchange.deadline.reset();
    Respond(exchange,
            tl::unexpected(HttpFailure{.maybe_sent = maybe_sent,
                                       .timed_out = true,
                                       .message = "simulated network: no answer in time"}));
  }

  void Respond(Exchange& exchange, tl::expected<HttpResponse, HttpFailure> response) {
    if (std::exchange(exchange.completed, true)) return;
    if (exchange.deadline) scheduler_.Cancel(*exchange.deadline);
    // The callback may own the object that it stores the result in, so it must not destroy itself.
    const auto done = std::make_unique<HttpDone>(std::move(exchange.done));
    (*done)(std::move(response));
  }

  Scheduler& scheduler_;
  SimServer& server_;
  DrawGenerator generator_;
  std::uint64_t order_sent_ = 0;
  std::uint64_t latest_arrival_ = 0;
  nanoseconds service_time_{0};  // that of the latest request
  Instant served_until_{};       // when all requests at the server have been carried out
};

SimTransport::SimTransport(Scheduler& scheduler, SimServer& server, std::uint64_t seed)
    : state_(std::make_shared<State>(scheduler, server, seed)) {}

SimTransport::~SimTransport() = default;

void SimTransport::Send(HttpRequest request, SendLimits limits, HttpDone done) {
  state_->Send(std::move(request), limits, std::move(done), faults);
}

void SimTransport::Script(std::string operation, std::uint64_t nth, NetworkFault fault) {
  state_->generator().Script(std::move(operation), nth, fault);
}

NetworkCounts& NetworkCounts::operator+=(const NetworkCounts& other) {
  requests += other.requests;
  refused += other.refused;
  lost_requests += other.lost_requests;
  lost_responses += other.lost_responses;
  duplicates += other.duplicates;
  failed_before += other.failed_before;
  failed_after += other.failed_after;
  throttled += other.throttled;
  strays += other.strays;
  tails += other.tails;
  timed_out += other.timed_out;
  reordered += other.reordered;
  late += other.late;
  return *this;
}

const NetworkCounts& SimTransport::counts() const { return state_->counts; }

std::size_t SimTransport::scripted() const { return state_->generator().scripted(); }

}  // namespace weir::sim
