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

/// A smaller change of the service's time does not matter to credentials.
constexpr milliseconds kUnnoticed{1000};

/// What the calls of one client share; lives as long as the last of them.
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
  /// Of the service's time to the time since boot, as the credentials provider knows it.
  std::optional<milliseconds> known_offset WEIR_GUARDED_BY(mutex);
  Counter calls, attempts, retries, throttles;
  Histogram request_time;
};

/// One call under way. Whoever will hear of its next event owns it; dropped, it answers for itself.
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
    Go(std::move(flight), std::move(first));
  }

 private:
  using Ptr = std::unique_ptr<Flight>;

  static void Go(Ptr flight, JsonStep step) {
    std::visit([&](auto& what) { Do(std::move(flight), what); }, step);
  }
  static void Do(Ptr flight, FetchCredentials& step);
  static void Do(Ptr flight, SignFor& step);
  static void Do(Ptr flight, SendBy& step);
  static void Do(Ptr flight, WakeAt& step);
  static void Do(Ptr flight, JsonAnswer& answer) {
    std::exchange(flight->done_, nullptr)(std::move(answer));
  }

  JsonStep OnCredentials(Result<Credentials> credentials);
  JsonStep OnAnswer(tl::expected<HttpResponse, HttpFailure> answer);
  JsonStep Weigh(Attempt attempt);
  void Observe(const ServerDate& response, UnixMillis wall);
  bool IsNews(UnixMillis time, nanoseconds boot) WEIR_REQUIRES(core_->mutex);
  void CountAttempt() const;

  const std::shared_ptr<Core> core_;
  JsonExchange exchange_;
  HttpRequest request_;  ///< between signing and sending
  nanoseconds sent_{0};  ///< the time since boot when it was handed over
  JsonDone done_;        ///< null once it ran
};

void Flight::Do(Ptr flight, FetchCredentials& step) {
  CredentialsProvider& provider = flight->core_->parts.credentials;
  provider.Get(step.deadline, [flight = std::move(flight)](Result<Credentials> got) mutable {
    JsonStep next = flight->OnCredentials(std::move(got));
    Go(std::move(flight), std::move(next));
  });
}

JsonStep Flight::OnCredentials(Result<Credentials> credentials) {
  const Moment at = core_->Now();
  const MutexLock lock(core_->mutex);
  return exchange_.OnCredentials(std::move(credentials), at, core_->shared);
}

void Flight::Do(Ptr flight, SignFor& step) {
  const Core& core = *flight->core_;
  flight->request_ = flight->exchange_.MakeRequest();
  const Credentials& credentials = flight->exchange_.credentials();
  const Status status = core.parts.signer.Sign(flight->request_, credentials, step.time);
  JsonStep next = flight->exchange_.OnSigned(status, core.Now().now);
  Go(std::move(flight), std::move(next));
}

void Flight::Do(Ptr flight, SendBy& step) {
  flight->CountAttempt();
  HttpTransport& transport = flight->core_->parts.transport;
  HttpRequest request = std::exchange(flight->request_, {});
  flight->sent_ = flight->core_->parts.scheduler.clock().BootNow();
  transport.Send(std::move(request), step.limits,
                 [flight = std::move(flight)](auto answer) mutable {
                   JsonStep next = flight->OnAnswer(std::move(answer));
                   Go(std::move(flight), std::move(next));
                 });
}

void Flight::CountAttempt() const {
  core_->attempts.Add();
  if (exchange_.attempts() > 1) core_->retries.Add();
}

JsonStep Flight::OnAnswer(tl::expected<HttpResponse, HttpFailure> answer) {
  const Clock& clock = core_->parts.scheduler.clock();
  core_->request_time.Record((clock.BootNow() - sent_).count());
  Attempt attempt = ClassifyResponse(std::move(answer), exchange_.context());
  if (!attempt.result && attempt.result.error().kind == FailureClass::kThrottle) {
    core_->throttles.Add();
    core_->events.Throttled(exchange_.context().operation, attempt.result.error(), clock.Now());
  }
  JsonStep next = Weigh(std::move(attempt));
  if (exchange_.rejected()) core_->parts.credentials.Rejected(exchange_.credentials());
  return next;
}

JsonStep Flight::Weigh(Attempt attempt) {
  const Moment at = core_->Now();
  const nanoseconds boot = core_->parts.scheduler.clock().BootNow();
  if (attempt.server_time) {
    Observe({.date = *attempt.server_time, .sent = sent_, .received = boot}, at.wall);
  }
  const MutexLock lock(core_->mutex);
  return exchange_.OnAttempt(std::move(attempt), at, core_->shared);
}

void Flight::Observe(const ServerDate& response, UnixMillis wall) {
  std::optional<UnixMillis> before;
  std::optional<UnixMillis> after;
  bool is_news = false;
  {
    const MutexLock lock(core_->mutex);
    before = core_->server_time.Now(response.received);
    core_->server_time.Observe(response, wall);
    after = core_->server_time.Now(response.received);
    is_news = after && IsNews(*after, response.received);
  }
  if (is_news) core_->parts.credentials.SetServiceTime(*after);
  if (before && after && *before != *after) core_->events.TimeStepped(*after - *before);
}

bool Flight::IsNews(UnixMillis time, nanoseconds boot) {
  const milliseconds offset = milliseconds(time.value) - std::chrono::floor<milliseconds>(boot);
  std::optional<milliseconds>& known = core_->known_offset;
  if (known && std::chrono::abs(offset - *known) <= kUnnoticed) return false;
  known = offset;
  return true;
}

void Flight::Do(Ptr flight, WakeAt& step) {
  Scheduler& scheduler = flight->core_->parts.scheduler;
  scheduler.At(step.at, [flight = std::move(flight)]() mutable {
    JsonStep next = flight->exchange_.OnWake(flight->core_->Now().now);
    Go(std::move(flight), std::move(next));
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
