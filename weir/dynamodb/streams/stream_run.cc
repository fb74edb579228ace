#include "weir/dynamodb/streams/stream_run.h"

#include <fmt/format.h>

#include <utility>

#include "weir/dynamodb/streams/stream_consumer.h"

namespace weir::dynamo {
namespace {

constexpr std::chrono::seconds kRequestLimit{10};
constexpr std::string_view kBothImages = "NEW_AND_OLD_IMAGES";

/// Accepts a disabled stream: DescribeTable has no view type for it, but its records are there.
Result<std::string> ReadableStreamOf(const std::string& table, TableDescription description) {
  const std::string& view = description.layout.stream;
  if (description.stream_arn.empty()) {
    return Fail(Code::kFailedPrecondition,
                fmt::format("table {} has no stream; enable one with the view type {}", table,
                            kBothImages));
  }
  if (view.empty() || view == kBothImages) return std::move(description.stream_arn);
  return Fail(Code::kFailedPrecondition,
              fmt::format("the stream of table {} has the view type {}, and {} is needed; disable "
                          "it, and enable one with that view type",
                          table, view, kBothImages));
}

}  // namespace

Result<std::unique_ptr<ServiceConnection>> ConnectToStreams(const std::string& region,
                                                            const std::string& endpoint,
                                                            const Clock& clock,
                                                            const HostEnvironment& environment,
                                                            Log* log) {
  ServiceConnectionOptions options;
  options.service = {.service = "dynamodb_streams",
                     .region = EmptyToNull(region),
                     .endpoint_url = EmptyToNull(endpoint),
                     .profile = {}};
  options.client.target_prefix = kStreamsTargetPrefix;
  options.log = log;
  return ServiceConnection::Open(std::move(options), clock, environment);
}

void FindStream(Table& table, Deadline deadline, Done<std::string> done) {
  std::string body = R"({"TableName":)";
  AppendJson(body, table.name());
  auto described = [name = table.name(),
                    done = std::move(done)](Result<std::string> response) mutable {
    if (!response) return done(Fail(std::move(response.error())));
    auto description = ReadDescription(*response);
    if (!description) return done(Fail(std::move(description.error())));
    done(ReadableStreamOf(name, *std::move(description)));
  };
  table.Call("DescribeTable", body + '}', deadline, std::move(described));
}

// The consumer is used on the scheduler's thread only: each result is posted to it.
class StreamRun::State : public std::enable_shared_from_this<State> {
 public:
  State(const StreamParts& parts, StreamHandlers handlers, ConsumerOptions options,
        std::uint64_t seed)
      : parts_(parts),
        handlers_(std::move(handlers)),
        lease_limit_(options.term / 3),
        consumer_(std::move(options), seed) {}

  /// Runs `event` with the consumer on the scheduler's thread, and carries out the step.
  template <class Event>
  void Post(Event event) {
    parts_.scheduler.Post([self = shared_from_this(), event = std::move(event)]() mutable {
      if (!self->is_done_) self->CarryOut(event(self->consumer_));
    });
  }
  Moment Now() const {
    const Clock& clock = parts_.scheduler.clock();
    return {clock.Now(), clock.WallNow()};
  }
  void Stop() {
    parts_.scheduler.Post([self = shared_from_this()] {
      if (std::exchange(self->is_done_, true)) return;
      self->error_ = Error{Code::kCancelled, "stopped before all positions were stored"};
      self->SetTimer(std::nullopt);
      self->EndIfIdle();
    });
  }
  StreamState state() const { return {consumer_.CountShards(), consumer_.CountDamagedLeases()}; }

 private:
  void CarryOut(ConsumerStep step);
  void Send(ConsumerStep::Request request);
  void Send(const ConsumerStep::LeaseRequest& request);
  void Deliver(ChangeBatch batch);
  void SetTimer(std::optional<Instant> wake);
  /// Posts the result of a request as an event.
  template <class Event>
  void PostResult(Event event);
  void EndIfIdle();
  Deadline After(nanoseconds wait) const { return Deadline::After(parts_.scheduler.clock(), wait); }

  const StreamParts parts_;
  StreamHandlers handlers_;
  const nanoseconds lease_limit_;
  StreamConsumer consumer_;
  std::optional<TimerId> timer_;
  std::size_t in_flight_ = 0;
  bool is_done_ = false;
  bool has_ended_ = false;
  std::optional<Error> error_;
};

void StreamRun::State::CarryOut(ConsumerStep step) {
  for (ConsumerStep::Request& request : step.requests) Send(std::move(request));
  for (const ConsumerStep::LeaseRequest& request : step.lease_requests) Send(request);
  for (const ConsumerEvent& event : step.events) handlers_.event(event);
  for (ChangeBatch& batch : step.batches) Deliver(std::move(batch));
  is_done_ = step.done;
  error_ = std::move(step.error);
  SetTimer(is_done_ ? std::nullopt : step.wake);
  EndIfIdle();
}

template <class Event>
void StreamRun::State::PostResult(Event event) {
  parts_.scheduler.Post([self = shared_from_this(), event = std::move(event)]() mutable {
    --self->in_flight_;
    if (!self->is_done_) return self->CarryOut(event(self->consumer_, self->Now()));
    self->EndIfIdle();
  });
}

void StreamRun::State::Send(ConsumerStep::Request request) {
  ++in_flight_;
  parts_.client.Call(
      {std::move(request.operation), std::move(request.body), true}, After(kRequestLimit),
      [self = shared_from_this(), id = request.id](tl::expected<JsonReply, AwsFailure> reply) {
        StreamConsumer::Response response;
        if (reply) {
          response = std::move(reply->body);
        } else {
          response = tl::unexpected(std::move(reply.error()));
        }
        self->PostResult([id, response](StreamConsumer& consumer, Moment at) {
          return consumer.OnResponse(id, response, at);
        });
      });
}

void StreamRun::State::Send(const ConsumerStep::LeaseRequest& request) {
  ++in_flight_;
  const auto self = shared_from_this();
  if (!request.write) {
    return parts_.leases.ReadAll(
        After(lease_limit_), [self, id = request.id](const LeasesRead& read) {
          self->PostResult([id, read](StreamConsumer& consumer, Moment at) {
            return consumer.OnLeases(id, read, at);
          });
        });
  }
  parts_.leases.Write(*request.write, After(lease_limit_),
                      [self, id = request.id](const LeaseOutcome& outcome) {
                        self->PostResult([id, outcome](StreamConsumer& consumer, Moment at) {
                          return consumer.OnLeaseWritten(id, outcome, at);
                        });
                      });
}

void StreamRun::State::Deliver(ChangeBatch batch) {
  const std::uint64_t id = batch.id;
  handlers_.batch(std::move(batch), [self = shared_from_this(), id](bool is_applied) {
    self->Post([self, id, is_applied](StreamConsumer& consumer) {
      return is_applied ? consumer.OnCompleted(id, self->Now())
                        : consumer.OnAbandoned(id, self->Now());
    });
  });
}

void StreamRun::State::SetTimer(std::optional<Instant> wake) {
  if (timer_) parts_.scheduler.Cancel(*timer_);
  timer_.reset();
  if (!wake) return;
  timer_ = parts_.scheduler.At(*wake, [self = shared_from_this()] {
    self->timer_.reset();
    if (!self->is_done_) self->CarryOut(self->consumer_.OnWake(self->Now()));
  });
}

void StreamRun::State::EndIfIdle() {
  if (!is_done_ || in_flight_ > 0 || std::exchange(has_ended_, true)) return;
  handlers_.ended(error_ ? Status(Fail(*error_)) : Status());
  handlers_ = {};
}

StreamRun::StreamRun(const StreamParts& parts, StreamHandlers handlers, ConsumerOptions options,
                     std::uint64_t seed)
    : state_(std::make_shared<State>(parts, std::move(handlers), std::move(options), seed)) {
  state_->Post(
      [state = state_.get()](StreamConsumer& consumer) { return consumer.OnWake(state->Now()); });
}

StreamRun::~StreamRun() = default;

void StreamRun::Stop() { state_->Stop(); }

StreamState StreamRun::state() const { return state_->state(); }

void StreamRun::Drain() {
  state_->Post(
      [state = state_.get()](StreamConsumer& consumer) { return consumer.Drain(state->Now()); });
}

}  // namespace weir::dynamo
