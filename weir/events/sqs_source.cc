#include "weir/events/sqs_source.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "weir/base/mutex.h"

namespace weir {
namespace {

SqsSourceOptions ForQueue(SqsSourceOptions options) {
  if (options.queue_url.ends_with(".fifo")) options.poll.keeps_until_over = false;
  return options;
}

}  // namespace

/// The driver of an SqsPoll. Tasks of the scheduler make its steps and carry them out, one after
/// the other; results that arrive on other threads are posted. The lock guards the SqsPoll against
/// stats(), which any thread may call.
class SqsSource::State : public std::enable_shared_from_this<State> {
 public:
  State(JsonClient& client, Scheduler& scheduler, Handle handle, SqsSourceOptions options)
      : client_(client),
        scheduler_(scheduler),
        handle_(std::move(handle)),
        options_(ForQueue(std::move(options))),
        poll_(options_.poll, options_.seed) {}
  ~State();

  Status Start();
  void Stop(Done<void> done);
  SqsStats stats() const;

 private:
  using Response = tl::expected<JsonReply, AwsFailure>;
  using OnText = void (State::*)(Result<std::string> response);

  /// Makes a step and carries it out. Only tasks of the scheduler call this function and those
  /// below, except PostStep.
  template <class MakeStep>
  void RunStep(const MakeStep& make);
  void CarryOut(SqsPoll::Step step);
  /// Calls the queue; a task passes the body of the response to `then`.
  void CallQueue(std::string operation, std::string body, OnText then);
  void OnReceived(Result<std::string> response);
  void OnDeleted(Result<std::string> response);
  void OnHidden(Result<std::string> response);
  /// Passes a message to the handler.
  void HandOver(const SqsPoll::HandOver& message);
  /// Posts a task that makes a step, unless the source has been destroyed. Called on any thread.
  template <class MakeStep>
  static void PostStep(const std::weak_ptr<State>& weak, MakeStep make);
  /// Sets the timer of the next round.
  void SetTimer(std::optional<Instant> wake);
  void CompleteStop();

  JsonClient& client_;
  Scheduler& scheduler_;
  const Handle handle_;
  const SqsSourceOptions options_;

  mutable Mutex mutex_;
  SqsPoll poll_ WEIR_GUARDED_BY(mutex_);

  // Used by tasks of the scheduler only.
  std::optional<TimerId> timer_;
  std::optional<Done<void>> stopped_;
};

SqsSource::State::~State() {
  if (timer_) scheduler_.Cancel(*timer_);
  if (stopped_) (*stopped_)(Fail(Code::kCancelled, "the source was destroyed"));
}

Status SqsSource::State::Start() {
  WEIR_RETURN_IF_ERROR(Check(options_.poll.receive));
  if (!options_.poll.receive.visibility) {
    return Fail(
        Code::kInvalidArgument,
        "no visibility timeout; expected one that is longer than the handling of a message");
  }
  if (options_.poll.hidden <= *options_.poll.receive.visibility) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("a message is hidden for {} s; expected longer than its "
                    "visibility timeout ({} s) and a round",
                    options_.poll.hidden.count(), options_.poll.receive.visibility->count()));
  }
  scheduler_.Post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self != nullptr) self->RunStep([](SqsPoll& poll, Instant now) { return poll.OnWake(now); });
  });
  return {};
}

void SqsSource::State::Stop(Done<void> done) {
  scheduler_.Post([weak = weak_from_this(), done = std::move(done)]() mutable {
    const auto self = weak.lock();
    if (self == nullptr) return done(Fail(Code::kCancelled, "the source was destroyed"));
    self->stopped_ = std::move(done);
    self->RunStep([](SqsPoll& poll, Instant now) { return poll.Stop(now); });
  });
}

template <class MakeStep>
void SqsSource::State::RunStep(const MakeStep& make) {
  SqsPoll::Step step;
  {
    const MutexLock lock(mutex_);
    step = make(poll_, scheduler_.clock().Now());
  }
  CarryOut(std::move(step));
}

void SqsSource::State::CarryOut(SqsPoll::Step step) {
  for (const SqsNotice& notice : step.notices) {
    if (options_.notice) options_.notice(notice);
  }
  if (step.ended && options_.ended) options_.ended(*step.ended);
  SetTimer(step.wake);
  if (step.receive) {
    CallQueue("ReceiveMessage", ReceiveBody(options_.queue_url, *step.receive), &State::OnReceived);
  }
  for (const SqsPoll::HandOver& message : step.messages) HandOver(message);
  if (!step.hidings.empty()) {
    CallQueue("ChangeMessageVisibilityBatch", HideBody(options_.queue_url, step.hidings),
              &State::OnHidden);
  }
  if (!step.receipts.empty()) {
    CallQueue("DeleteMessageBatch", DeleteBody(options_.queue_url, step.receipts),
              &State::OnDeleted);
  }
  if (step.stopped) CompleteStop();
}

// All operations are repeatable: a receive whose response was lost hides its messages for a while,
// and deleting or hiding a receipt twice has the effect of once.
void SqsSource::State::CallQueue(std::string operation, std::string body, OnText then) {
  const nanoseconds within = options_.poll.receive.wait + options_.call_timeout;
  client_.Call({std::move(operation), std::move(body), /*repeatable=*/true},
               Deadline::After(scheduler_.clock(), within),
               [weak = weak_from_this(), then](Response response) {
                 const auto self = weak.lock();
                 if (self == nullptr) return;
                 Result<std::string> text = response
                                                ? Result<std::string>(std::move(response->body))
                                                : Fail(ToError(response.error()));
                 self->scheduler_.Post([weak, then, text = std::move(text)]() mutable {
                   if (const auto alive = weak.lock()) ((*alive).*then)(std::move(text));
                 });
               });
}

void SqsSource::State::OnReceived(Result<std::string> response) {
  auto received = response.and_then([](const std::string& text) { return ReadReceived(text); });
  RunStep([&received](SqsPoll& poll, Instant now) {
    return poll.OnReceived(std::move(received), now);
  });
}

void SqsSource::State::OnDeleted(Result<std::string> response) {
  const auto deleted = response.and_then([](const std::string& text) { return ReadDeleted(text); });
  RunStep([&deleted](SqsPoll& poll, Instant now) { return poll.OnDeleted(deleted, now); });
}

void SqsSource::State::OnHidden(Result<std::string> response) {
  const auto hidden = response.and_then([](const std::string& text) { return ReadHidden(text); });
  RunStep([&hidden](SqsPoll& poll, Instant now) { return poll.OnHidden(hidden, now); });
}

template <class MakeStep>
void SqsSource::State::PostStep(const std::weak_ptr<State>& weak, MakeStep make) {
  const auto self = weak.lock();
  if (self == nullptr) return;
  self->scheduler_.Post([weak, make = std::move(make)] {
    if (const auto alive = weak.lock()) alive->RunStep(make);
  });
}

void SqsSource::State::HandOver(const SqsPoll::HandOver& message) {
  const std::weak_ptr<State> weak = weak_from_this();
  const SqsPoll::Key key = message.key;
  auto settled = [weak, key](Result<bool> handled) {
    PostStep(weak, [key, handled = std::move(handled)](SqsPoll& poll, Instant now) {
      return poll.OnHandled(key, handled, now);
    });
  };
  auto over = [weak, key](Status end) {
    PostStep(weak, [key, end = std::move(end)](SqsPoll& poll, Instant now) {
      return poll.OnEventOver(key, end, now);
    });
  };
  handle_(message.body, message.sent, {.settled = std::move(settled), .over = std::move(over)});
}

void SqsSource::State::SetTimer(std::optional<Instant> wake) {
  if (!wake) return;
  timer_ = scheduler_.At(*wake, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->timer_.reset();
    self->RunStep([](SqsPoll& poll, Instant now) { return poll.OnWake(now); });
  });
}

void SqsSource::State::CompleteStop() {
  if (timer_) scheduler_.Cancel(*std::exchange(timer_, std::nullopt));
  Done<void> done = *std::exchange(stopped_, std::nullopt);
  done({});
}

SqsStats SqsSource::State::stats() const {
  const MutexLock lock(mutex_);
  return poll_.stats();
}

SqsSource::SqsSource(JsonClient& client, Scheduler& scheduler, Handle handle,
                     SqsSourceOptions options)
    : state_(std::make_shared<State>(client, scheduler, std::move(handle), std::move(options))) {}

SqsSource::~SqsSource() = default;

Status SqsSource::Start() { return state_->Start(); }
void SqsSource::Stop(Done<void> done) { state_->Stop(std::move(done)); }
SqsStats SqsSource::stats() const { return state_->stats(); }

}  // namespace weir
