// Takes messages from a queue of Amazon SQS, and deletes those that are dealt with. Mechanism:
// docs/design/events.md.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weir/aws/json_client.h"
#include "weir/base/done.h"
#include "weir/events/event_progress.h"
#include "weir/events/sqs_poll.h"
#include "weir/runtime/scheduler.h"

namespace weir {

struct SqsSourceOptions {
  std::string queue_url;
  SqsPollOptions poll;                ///< `holds` is false for a FIFO queue (".fifo")
  milliseconds call_timeout{10'000};  ///< of a call, beyond what it waits for messages
  std::uint64_t seed = 0;             ///< of the pauses after failures
  /// Receives each failure after which the source goes on. On the scheduler's thread; may be empty.
  std::function<void(const SqsNotice&)> notice;
  /// Receives the error after which the source receives no more: the queue does not exist, or this
  /// caller may not read it. On the scheduler's thread, at most once; may be empty. Stop remains
  /// to be called.
  std::function<void(const Error&)> ended{};
};

/// Thread-safe. A message is deleted when its event is over and not before: what is under way when
/// the process ends comes again.
class SqsSource {
 public:
  /// Takes the body of a message: EventReleaser::Take, for example. On the scheduler's thread. Its
  /// progress may be told on any. kInvalidArgument: the message is no event. Errors that may pass
  /// (kUnavailable, kDeadlineExceeded, kAborted, kResourceExhausted): it is handed over again.
  using Handle = std::function<void(std::string_view body, std::optional<UnixMillis> sent,
                                    EventProgress progress)>;

  /// Client (target prefix kSqsTargetPrefix), scheduler and what `handle` refers to must outlive it
  /// and what is under way on them.
  SqsSource(JsonClient& client, Scheduler& scheduler, Handle handle, SqsSourceOptions options);
  /// What is under way is abandoned: its messages come again. One that was stopped leaves nothing.
  ~SqsSource();
  SqsSource(const SqsSource&) = delete;
  SqsSource& operator=(const SqsSource&) = delete;

  /// Once. kInvalidArgument: see Check(ReceiveOptions).
  [[nodiscard]] Status Start();
  /// Receives no more. `done` on the scheduler's thread, when what is under way is handled and
  /// deleted, and what is not over is given back to the queue: after the wait for messages (20
  /// seconds) and the handling of what that brings. Once; kCancelled where the source is destroyed
  /// before.
  void Stop(Done<void> done);

  SqsStats stats() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace weir
