#include "weir/aws/retrying_client.h"

#include <array>
#include <chrono>
#include <utility>

#include "weir/aws/client_events.h"
#include "weir/aws/json_exchange.h"
#include "weir/aws/server_time.h"
#include "weir/base/mutex.h"
#include "weir/telemetry/counter.h"

namespace weir {
namespace {

/// The credentials provider is not notified of smaller changes of the service's time.
constexpr milliseconds kUnnoticed{1000};

/// The state that the calls of one client share. It lives until the last of them has completed.
struct Core {
  Core(JsonClientParts with, JsonClientOptions opts)
      : parts(with),
        options(std::move(opts)),
        events(options.log == nullptr ? NoLog() : *options.log, options.host),
        shared(options) {}

  Moment Now() const {
    const Clock& clock = parts.scheduler.clock();
    return {clock.Now(), clock.WallNow()};
  }

  const JsonClientParts parts;
  const JsonClientOptions options;
  ClientEvents events;
  Mutex mutex;
  SharedRetries shared WEIR_GUARDED_BY(mutex);
  ServerTime server_time WEIR_GUARDED_BY(mutex);
  /// The service's time minus the time since boot, as the credentials provider was last notified.
  std::optional<milliseconds> known_offset WEIR_GUARDED_BY(mutex);
  Counter calls, attempts, retries, throttles;
  Histogram request_time;
};

/// One pending call. It is owned by the callback of its next event, and completes itself if that
/// callback is destroyed unrun.
///
/// Each Execute carries out one step of json_exchange.h and passes the resulting event to the
/// exchange, under the core's lock if the event uses the shared state; Continue then carries out
/// the next step.
class Flight {
 public:
  Flight(std::shared_ptr<Core> core, JsonCall call, Deadline deadline, JsonDone done)
      : core_(std::move(core)),
        exchange_(core_->options, std::move(call), deadline),
        done_(std::move(done)) {}
  Flight(Flight&&) = delete;
  Flight& operator=(Flight&&) = delete;
  ~Flight() {
    if (done_) done_(exchange_.Abandon());
  }

  static void Begin(std::unique_ptr<Flight> flight) {
    JsonStep first = flight->exchange_.Begin(flight->core_->Now().now);
    Continue(std::move(flight), std::move(first));
  }

 private:
  using Ptr = std::unique_ptr<Flight>;

  /// Carries out a step. The flight may complete and be destroyed before this returns.
  static void Continue(Ptr flight, JsonStep step) {
    std::visit([&](auto& what) { Execute(std::move(flight), what); }, step);
  }
  static void Execute(Ptr flight, FetchCredentials& step);
  static void Execute(Ptr flight, SignFor& step);
  static void Execute(Ptr flight, SendBy& step);
  static void Execute(Ptr flight, WakeAt& step);
  static void Execute(Ptr flight, JsonResult& response) {
    std::exchange(flight->done_, nullptr)(std::move(response));
  }

  JsonStep OnCredentials(Result<Credentials> credentials);
  JsonStep OnResponse(tl::expected<HttpResponse, HttpFailure> response);
  /// Passes the outcome of an attempt to the exchange.
  JsonStep OnOutcome(Attempt attempt);
  /// Passes a response's Date to server_time, and reports changes of the service's time.
  void ObserveDate(const ServerDate& response, UnixMillis wall);
  /// Returns whether the provider must be notified of this time of the service; if so, records it.
  bool MustNotify(UnixMillis time, nanoseconds boot) WEIR_REQUIRES(core_->mutex);
  void CountAttempt() const;

  const std::shared_ptr<Core> core_;
  JsonExchange exchange_;
  HttpRequest request_;  ///< signed, not yet sent
  nanoseconds sent_{0};  ///< the time since boot when the request was passed to the transport
  JsonDone done_;        ///< null once it has run
};

void Flight::Execute(Ptr flight, FetchCredentials& step) {
  CredentialsProvider& provider = flight->core_->parts.credentials;
  provider.Get(step.deadline, [flight = std::move(flight)](Result<Credentials> got) mutable {
    JsonStep next = flight->OnCredentials(std::move(got));
    Continue(std::move(flight), std::move(next));
  });
}

JsonStep Flight::OnCredentials(Result<Credentials> credentials) {
  const Moment at = core_->Now();
  const MutexLock lock(core_->mutex);
  return exchange_.OnCredentials(std::move(credentials), at, core_->shared);
}

void Flight::Execute(Ptr flight, SignFor& step) {
  const Core& core = *flight->core_;
  flight->request_ = flight->exchange_.MakeRequest();
  const Credentials& credentials = flight->exchange_.credentials();
  const Status status = core.parts.signer.Sign(flight->request_, credentials, step.time);
  JsonStep next = flight->exchange_.OnSigned(status, core.Now().now);
  Continue(std::move(flight), std::move(next));
}

void Flight::Execute(Ptr flight, SendBy& step) {
  flight->CountAttempt();
  HttpTransport& transport = flight->core_->parts.transport;
  HttpRequest request = std::exchange(flight->request_, {});
  flight->sent_ = flight->core_->parts.scheduler.clock().BootNow();
  transport.Send(std::move(request), step.limits,
                 [flight = std::move(flight)](auto response) mutable {
                   JsonStep next = flight->OnResponse(std::move(response));
                   Continue(std::move(flight), std::move(next));
                 });
}

void Flight::CountAttempt() const {
  core_->attempts.Add();
  if (exchange_.attempts() > 1) core_->retries.Add();
}

JsonStep Flight::OnResponse(tl::expected<HttpResponse, HttpFailure> response) {
  const Clock& clock = core_->parts.scheduler.clock();
  core_->request_time.Record((clock.BootNow() - sent_).count());
  Attempt attempt = ClassifyResponse(std::move(response), exchange_.context());
  if (!attempt.result && attempt.result.error().kind == FailureClass::kThrottle) {
    core_->throttles.Add();
    core_->events.Throttled(exchange_.context().operation, attempt.result.error(), clock.Now());
  }
  JsonStep next = OnOutcome(std::move(attempt));
  // Under no lock, as CredentialsProvider requires.
  if (exchange_.rejected()) core_->parts.credentials.Rejected(exchange_.credentials());
  return next;
}

JsonStep Flight::OnOutcome(Attempt attempt) {
  const Moment at = core_->Now();
  const nanoseconds boot = core_->parts.scheduler.clock().BootNow();
  if (attempt.server_time) {
    ObserveDate({.date = *attempt.server_time, .sent = sent_, .received = boot}, at.wall);
  }
  const MutexLock lock(core_->mutex);
  return exchange_.OnAttempt(std::move(attempt), at, core_->shared);
}

void Flight::ObserveDate(const ServerDate& response, UnixMillis wall) {
  std::optional<UnixMillis> before;
  std::optional<UnixMillis> after;
  bool must_notify = false;
  {
    const MutexLock lock(core_->mutex);
    before = core_->server_time.Now(response.received);
    core_->server_time.Observe(response, wall);
    after = core_->server_time.Now(response.received);
    must_notify = after && MustNotify(*after, response.received);
  }
  // Under no lock, as CredentialsProvider requires.
  if (must_notify) core_->parts.credentials.SetServiceTime(*after);
  if (before && after && *before != *after) core_->events.TimeStepped(*after - *before);
}

bool Flight::MustNotify(UnixMillis time, nanoseconds boot) {
  const milliseconds offset = milliseconds(time.value) - std::chrono::floor<milliseconds>(boot);
  std::optional<milliseconds>& known = core_->known_offset;
  if (known && std::chrono::abs(offset - *known) <= kUnnoticed) return false;
  known = offset;
  return true;
}

void Flight::Execute(Ptr flight, WakeAt& step) {
  Scheduler& scheduler = flight->core_->parts.scheduler;
  scheduler.At(step.at, [flight = std::move(flight)]() mutable {
    JsonStep next = flight->exchange_.OnWake(flight->core_->Now().now);
    Continue(std::move(flight), std::move(next));
  });
}

class RetryingClient final : public JsonClient {
 public:
  explicit RetryingClient(std::shared_ptr<Core> core) : core_(std::move(core)) {}

  void Call(JsonCall call, Deadline deadline, JsonDone done) override {
    core_->calls.Add();
    Flight::Begin(std::make_unique<Flight>(core_, std::move(call), deadline, std::move(done)));
  }

  std::optional<UnixMillis> ServerNow() const override {
    const nanoseconds boot = core_->parts.scheduler.clock().BootNow();
    const MutexLock lock(core_->mutex);
    return core_->server_time.Now(boot);
  }

  std::optional<UnixMillis> ConfirmedNow() const override {
    const nanoseconds boot = core_->parts.scheduler.clock().BootNow();
    const MutexLock lock(core_->mutex);
    return core_->server_time.ConfirmedNow(boot);
  }

  JsonClientStats stats() const override {
    const MutexLock lock(core_->mutex);
    return {.calls = core_->calls.Value(),
            .attempts = core_->attempts.Value(),
            .retries = core_->retries.Value(),
            .throttles = core_->throttles.Value(),
            .quota_refused = core_->shared.quota.refused()};
  }
  HistogramSnapshot RequestTime() const override { return core_->request_time.Snapshot(); }

 private:
  const std::shared_ptr<Core> core_;
};

}  // namespace

std::unique_ptr<JsonClient> MakeJsonClient(JsonClientParts parts, JsonClientOptions options) {
  return std::make_unique<RetryingClient>(std::make_shared<Core>(parts, std::move(options)));
}

}  // namespace weir
