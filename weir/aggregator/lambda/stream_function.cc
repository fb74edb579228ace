#include "weir/aggregator/lambda/stream_function.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "weir/aggregator/daemon/batch_run.h"
#include "weir/aggregator/daemon/lease_run.h"
#include "weir/aggregator/lambda/stream_event.h"
#include "weir/aggregator/lambda/suspension.h"

namespace weir::dynamo {
namespace {

AggregatorOptions WithArchiveOf(const FunctionParts& parts, AggregatorOptions options) {
  options.archives = options.archives && parts.archive != nullptr;
  return options;
}

}  // namespace

// Used on the scheduler's thread.
class StreamFunction::State : public std::enable_shared_from_this<State> {
 public:
  State(const FunctionParts& parts, FunctionOptions options, std::uint64_t seed)
      : parts_(parts),
        options_(WithArchiveOf(parts, std::move(options.aggregator))),
        lease_options_(std::move(options.lease)),
        rng_(seed),
        divider_({parts.table, parts.scheduler, parts.log}, rng_.Next()) {}

  void Handle(StreamInvocation invocation, Done<std::string> done);
  void Stop(Done<void> idle);
  Scheduler& scheduler() const { return parts_.scheduler; }

 private:
  /// A lease, and the batches under it. After a suspension the process begins another session,
  /// because the old one cannot know how much of the lease's time has passed.
  struct Session {
    std::shared_ptr<LeaseRun> lease;
    std::shared_ptr<BatchRun> batches;
    /// The end of the lease, by the last renewal that was noticed.
    Instant held_until{INT64_MIN};
    /// A time before that renewal was sent. Before the first renewal: when another owner was found
    /// to hold the lease.
    std::optional<ClockReading> known_at{};
    ClockReading changed_at{};  ///< time of the lease's last event; requests are sent at events
    int busy = 2;  ///< after EndSession: how many of `lease` and `batches` are not idle yet
  };
  struct Pending {
    StreamInvocation invocation;
    StreamEvent event;
    Done<std::string> done;
    bool is_begun = false;
  };

  bool IsOutdated(const Session& session) const;
  void BeginSession();
  void EndSession(const std::shared_ptr<Session>& session);
  /// Notes a renewal.
  void OnLeaseChanged();
  /// Begins the batch when the lease is held; ends the invocation if another owner holds it.
  void UseLease();
  void BeginBatch();
  void OnBatch(const BatchResult& result);
  void OnDeadline();
  void End(Result<std::string> response);
  void Report(const BatchResult& result);
  /// Returns the response to an event of which the first `applied` records are applied.
  std::string ResponseAfter(std::size_t applied) const;
  ClockReading Now() const { return ReadClocks(parts_.scheduler.clock()); }

  const FunctionParts parts_;
  const AggregatorOptions options_;
  const LeaseOptions lease_options_;
  Rng rng_;
  BucketDivider divider_;
  std::shared_ptr<Session> session_;
  std::vector<std::shared_ptr<Session>> ending_;
  std::optional<Pending> pending_;
  std::optional<TimerId> timer_;
  Done<void> idle_;
};

void StreamFunction::State::Handle(StreamInvocation invocation, Done<std::string> done) {
  Result<StreamEvent> event = ReadStreamEvent(invocation.event);
  if (!event) return done(Fail(std::move(event.error())));
  if (Status source = CheckSource(invocation.event, parts_.table.name()); !source) {
    return done(Fail(std::move(source.error())));
  }
  if (session_ != nullptr && IsOutdated(*session_)) EndSession(std::exchange(session_, nullptr));
  pending_.emplace(std::move(invocation), *std::move(event), std::move(done));
  timer_ = parts_.scheduler.At(pending_->invocation.deadline.at(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnDeadline();
  });
  session_ == nullptr ? BeginSession() : UseLease();
}

bool StreamFunction::State::IsOutdated(const Session& session) const {
  return session.known_at &&
         LongestBetween(*session.known_at, Now()) >= lease_options_.lifetime / 3;
}

void StreamFunction::State::BeginSession() {
  session_ = std::make_shared<Session>();
  session_->lease = std::make_shared<LeaseRun>(
      LeaseRun::Parts{parts_.table, parts_.scheduler, parts_.log}, lease_options_);
  session_->batches = std::make_shared<BatchRun>(
      BatchRunParts{parts_.table, parts_.scheduler, parts_.archive, divider_},
      AggregatorTerms{options_, session_->lease->lease(), parts_.log}, rng_.Next());
  session_->changed_at = Now();
  session_->lease->Start([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnLeaseChanged();
  });
}

void StreamFunction::State::EndSession(const std::shared_ptr<Session>& session) {
  ending_.push_back(session);
  const auto idle = [self = shared_from_this(), session = session.get()] {
    self->parts_.scheduler.Post([self, session] {  // outside of the functions of the session
      if (--session->busy > 0) return;
      std::erase_if(self->ending_, [&](const auto& each) { return each.get() == session; });
      if (self->ending_.empty() && self->idle_) std::exchange(self->idle_, nullptr)({});
    });
  };
  session->lease->Stop();
  session->lease->WhenIdle(idle);
  session->batches->Stop(idle);
}

// The process may have been suspended between a request and its response. So a renewal counts from
// the previous event of the lease, at which its request was sent.
void StreamFunction::State::OnLeaseChanged() {
  const Instant held_until = session_->lease->lease().held_until();
  const ClockReading sent_at = std::exchange(session_->changed_at, Now());
  if (std::exchange(session_->held_until, held_until) != held_until) session_->known_at = sent_at;
  UseLease();
}

void StreamFunction::State::UseLease() {
  const AggregatorLease& lease = session_->lease->lease();
  if (!pending_ || pending_->is_begun) return;
  if (lease.IsHeldAt(parts_.scheduler.clock().Now())) return BeginBatch();
  if (lease.other_owner().empty() || !lease.other_is_alive()) return;
  if (!session_->known_at) session_->known_at = Now();
  End(Fail(Code::kFailedPrecondition,
           fmt::format("the usage of table {} is counted by '{}'; stop it, or remove the event "
                       "source mapping of this function",
                       parts_.table.name(), lease.other_owner())));
}

void StreamFunction::State::BeginBatch() {
  pending_->is_begun = true;
  session_->batches->Start(
      {.stream_shard = pending_->invocation.id,
       .records = pending_->event.records,
       .deadline = pending_->invocation.deadline},
      [self = shared_from_this()](const BatchResult& result) { self->OnBatch(result); });
}

void StreamFunction::State::OnBatch(const BatchResult& result) {
  Report(result);
  End(ResponseAfter(result.applied));
}

std::string StreamFunction::State::ResponseAfter(std::size_t applied) const {
  const StreamEvent& event = pending_->event;
  if (applied == event.records.size() && !event.unreadable) return BatchResponse(std::nullopt);
  return BatchResponse(SequenceNumberIn(pending_->invocation.event, applied));
}

void StreamFunction::State::Report(const BatchResult& result) {
  const StreamInvocation& invocation = pending_->invocation;
  const StreamEvent& event = pending_->event;
  if (event.unreadable && result.applied == event.records.size()) {
    const LogField fields[] = {{"stream_shard", std::string_view(invocation.id)},
                               {"message", std::string_view(event.unreadable->message)}};
    parts_.log.Write(LogLevel::kError, "aggregator.batch_failed", fields);
  }
  const auto field = [](std::string_view name, std::size_t count) {
    return LogField{name, static_cast<std::int64_t>(count)};
  };
  const BatchCounts& counts = result.counts;
  const LogField fields[] = {{"request", std::string_view(invocation.id)},
                             field("records", event.records.size()),
                             field("applied", result.applied),
                             field("updates", counts.updates),
                             field("conflicts", counts.conflicts),
                             field("refills", counts.refills),
                             field("divisions", counts.divisions),
                             field("archived", counts.archived)};
  parts_.log.Write(LogLevel::kInfo, "lambda.batch", fields);
}

void StreamFunction::State::OnDeadline() {
  timer_.reset();
  if (!pending_ || pending_->is_begun) return;  // the batch ends by its own deadline
  const std::string& other = session_->lease->lease().other_owner();
  End(Fail(Code::kDeadlineExceeded,
           fmt::format("the lease of the aggregator of table {} was not acquired in time{}",
                       parts_.table.name(),
                       other.empty() ? "" : fmt::format("; '{}' may hold it", other))));
}

void StreamFunction::State::End(Result<std::string> response) {
  if (timer_) parts_.scheduler.Cancel(*timer_);
  timer_.reset();
  Done<std::string> done = std::move(pending_->done);
  pending_.reset();
  done(std::move(response));
}

void StreamFunction::State::Stop(Done<void> idle) {
  if (session_ == nullptr && ending_.empty()) return idle({});
  idle_ = std::move(idle);
  if (session_ != nullptr) EndSession(std::exchange(session_, nullptr));
}

StreamFunction::StreamFunction(const FunctionParts& parts, FunctionOptions options,
                               std::uint64_t seed)
    : state_(std::make_shared<State>(parts, std::move(options), seed)) {}

StreamFunction::~StreamFunction() = default;

void StreamFunction::Handle(StreamInvocation invocation, Done<std::string> done) {
  state_->scheduler().Post(
      [state = state_, invocation = std::move(invocation), done = std::move(done)]() mutable {
        state->Handle(std::move(invocation), std::move(done));
      });
}

void StreamFunction::Stop(Done<void> idle) {
  state_->scheduler().Post(
      [state = state_, idle = std::move(idle)]() mutable { state->Stop(std::move(idle)); });
}

}  // namespace weir::dynamo
