#include "weir/kinesis/metrics/metrics_uploader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/base/owed_result.h"
#include "weir/runtime/await.h"
#include "weir/telemetry/repeated_event.h"

namespace weir::kinesis {
namespace {

constexpr std::string_view kNoRoom = "there was no room for all of them";

/// A caller of Close.
using Closing = OwedResult<void, "the uploader was destroyed">;

}  // namespace

/// Steps are made and carried out by tasks of the scheduler, one after the other. Tasks have weak
/// pointers, so that they do not keep the state alive.
class MetricsUploader::State : public std::enable_shared_from_this<State> {
 public:
  State(const MetricsUploaderParts& parts, MetricsUploadOptions options, milliseconds timeout,
        std::uint64_t seed)
      : parts_(parts),
        timeout_(timeout),
        upload_(std::move(options), parts.scheduler.clock().Now(), seed) {}
  ~State();

  // Post a task. If the uploader is destroyed before the task runs, the task does nothing.
  void WakeSoon();
  void CloseSoon(Deadline deadline, Done<void> done);
  /// No task uses the metrics after this has returned.
  void Detach();
  MetricsUploadStats stats() const;

 private:
  using Failure = std::optional<AwsFailure>;

  Instant Now() const { return parts_.scheduler.clock().Now(); }
  UnixMillis WallNow() const { return parts_.scheduler.clock().WallNow(); }
  /// Takes samples if they are due, and continues.
  void TakeDueSamples();
  void Close(Deadline deadline, Closing closing);
  /// Makes a step under the lock, unless detached, and carries it out.
  template <class MakeStep>
  void RunStep(const MakeStep& make);
  void CarryOut(MetricsUploadStep step);
  void SendBody(std::string body);
  void OnResponse(const Failure& failure);
  /// Abandons the upload: the deadline of Close has come.
  void OnDeadline();
  void SetTimer(std::optional<Instant> wake);
  /// Logs a failure, at most once in 10 s.
  void LogFailure(std::string_view message);
  void ReportDropped();
  /// Runs each `done` of Close.
  void ReportEnd();
  /// Returns the status that Close reports at the end of the upload.
  Status EndStatus() const;

  const MetricsUploaderParts parts_;
  const milliseconds timeout_;

  mutable Mutex mutex_;
  MetricsUpload upload_ WEIR_GUARDED_BY(mutex_);
  bool is_detached_ WEIR_GUARDED_BY(mutex_) = false;

  // Used by tasks of the scheduler only.
  std::optional<TimerId> timer_, end_timer_;
  Deadline deadline_ = Deadline::Never();
  bool is_late_ = false;          // the deadline of Close has passed
  std::vector<Closing> closing_;  // the callers of Close that wait
  Error last_failure_;
  std::uint64_t dropped_ = 0;  // MetricsUploadStats::dropped at the last report
  RepeatedEvent failed_{std::chrono::seconds(10)};
};

MetricsUploader::State::~State() {
  if (timer_) parts_.scheduler.Cancel(*timer_);
  if (end_timer_) parts_.scheduler.Cancel(*end_timer_);
}

template <class MakeStep>
void MetricsUploader::State::RunStep(const MakeStep& make) {
  MetricsUploadStep step;
  {
    const MutexLock lock(mutex_);
    if (is_detached_) return;
    step = make(upload_);
  }
  CarryOut(std::move(step));
}

void MetricsUploader::State::WakeSoon() {
  parts_.scheduler.Post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->TakeDueSamples();
  });
}

void MetricsUploader::State::CloseSoon(Deadline deadline, Done<void> done) {
  parts_.scheduler.Post(
      [weak = weak_from_this(), deadline, closing = Closing(std::move(done))]() mutable {
        if (const auto self = weak.lock()) self->Close(deadline, std::move(closing));
      });
}

void MetricsUploader::State::TakeDueSamples() {
  RunStep([this](MetricsUpload& upload) {
    const Instant now = Now();
    if (!upload.IsDue(now)) return upload.OnWake(now);
    return upload.OnSamples(parts_.metrics.Take(), WallNow(), now);
  });
  ReportDropped();
}

void MetricsUploader::State::Close(Deadline deadline, Closing closing) {
  closing_.push_back(std::move(closing));
  deadline_ = std::min(deadline_, deadline);
  if (end_timer_) parts_.scheduler.Cancel(*end_timer_);
  end_timer_.reset();
  if (!deadline_.is_never()) {
    end_timer_ = parts_.scheduler.At(deadline_.at(), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->OnDeadline();
    });
  }
  RunStep([this](MetricsUpload& upload) {
    return upload.OnLastSamples(parts_.metrics.Take(), WallNow(), Now());
  });
}

void MetricsUploader::State::Detach() {
  const MutexLock lock(mutex_);
  is_detached_ = true;
}

MetricsUploadStats MetricsUploader::State::stats() const {
  const MutexLock lock(mutex_);
  return upload_.stats();
}

void MetricsUploader::State::CarryOut(MetricsUploadStep step) {
  SetTimer(step.wake);
  if (step.body) SendBody(*std::move(step.body));
  if (step.ended) ReportEnd();
}

void MetricsUploader::State::SendBody(std::string body) {
  const Deadline by = std::min(deadline_, Deadline::After(parts_.scheduler.clock(), timeout_));
  parts_.client.Call({.operation = "PutMetricData", .body = std::move(body)}, by,
                     [weak = weak_from_this()](const tl::expected<JsonReply, AwsFailure>& reply) {
                       const auto self = weak.lock();
                       if (self == nullptr) return;
                       Failure failure;
                       if (!reply) failure = reply.error();
                       self->parts_.scheduler.Post([weak, failure = std::move(failure)] {
                         if (const auto state = weak.lock()) state->OnResponse(failure);
                       });
                     });
}

void MetricsUploader::State::OnResponse(const Failure& failure) {
  if (failure) last_failure_ = ToError(*failure);
  MetricsUploadStep step;
  {
    const MutexLock lock(mutex_);
    if (is_detached_) return;
    step = upload_.OnResponse(failure, Now());
  }
  if (failure) LogFailure(failure->message);
  // CarryOut comes last: it may run the `done` of Close, and the log may be destroyed then.
  CarryOut(std::move(step));
}

void MetricsUploader::State::OnDeadline() {
  end_timer_.reset();
  is_late_ = true;
  RunStep([this](MetricsUpload& upload) { return upload.Abandon(Now()); });
}

// A timer that fires too early finds nothing to do.
void MetricsUploader::State::SetTimer(std::optional<Instant> wake) {
  if (timer_) parts_.scheduler.Cancel(*timer_);
  timer_.reset();
  if (!wake) return;
  timer_ = parts_.scheduler.At(*wake, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->TakeDueSamples();
  });
}

void MetricsUploader::State::LogFailure(std::string_view message) {
  if (!parts_.log.IsEnabled(LogLevel::kWarning)) return;
  const auto suppressed = failed_.ShouldWrite(Now());
  if (!suppressed) return;
  const MetricsUploadStats current = stats();
  const auto number = [](std::uint64_t count) { return static_cast<std::int64_t>(count); };
  const std::array fields{LogField{"message", message}, LogField{"kept", number(current.kept)},
                          LogField{"lost", number(current.dropped + current.refused)},
                          LogField{"suppressed", *suppressed}};
  parts_.log.Write(LogLevel::kWarning, "kinesis.metrics_failed", fields);
}

void MetricsUploader::State::ReportEnd() {
  if (end_timer_) parts_.scheduler.Cancel(*end_timer_);
  end_timer_.reset();
  const Status status = EndStatus();
  // A later Close has a deadline of its own.
  deadline_ = Deadline::Never();
  is_late_ = false;
  for (Closing& closing : std::exchange(closing_, {})) closing(Status(status));
}

Status MetricsUploader::State::EndStatus() const {
  const MetricsUploadStats current = stats();
  const std::uint64_t lost = current.kept + current.dropped + current.refused;
  if (lost == 0) return {};
  Error why = last_failure_;
  if (why.message.empty()) {
    why = is_late_ ? Error{Code::kDeadlineExceeded, "no response came in time"}
                   : Error{Code::kResourceExhausted, std::string(kNoRoom)};
  }
  if (is_late_ && current.kept > 0) why.code = Code::kDeadlineExceeded;
  return Fail(why.code,
              fmt::format("{} metrics were not uploaded to CloudWatch: {}", lost, why.message));
}

// If too many data come at once, some are discarded without a failed request: this is logged here.
void MetricsUploader::State::ReportDropped() {
  const std::uint64_t dropped = stats().dropped;
  if (dropped > std::exchange(dropped_, dropped)) LogFailure(kNoRoom);
}

MetricsUploader::MetricsUploader(const MetricsUploaderParts& parts, MetricsUploadOptions options,
                                 milliseconds request_timeout, std::uint64_t seed)
    : state_(std::make_shared<State>(parts, std::move(options), request_timeout, seed)) {
  state_->WakeSoon();
}

MetricsUploader::~MetricsUploader() { state_->Detach(); }

void MetricsUploader::Close(Deadline deadline, Done<void> done) {
  state_->CloseSoon(deadline, std::move(done));
}

Status MetricsUploader::Close(Deadline deadline) {
  return Await<void>([&](Done<void> done) { Close(deadline, std::move(done)); });
}

MetricsUploadStats MetricsUploader::stats() const { return state_->stats(); }

}  // namespace weir::kinesis
