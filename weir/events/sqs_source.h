// Receives messages from an Amazon SQS queue, and deletes those whose events are over. Mechanism:
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
  SqsPollOptions poll;  ///< `keeps_until_over` is false for a FIFO queue (".fifo")
  /// The timeout of a call, in addition to its wait for messages.
  milliseconds call_timeout{10'000};
  std::uint64_t seed = 0;  ///< the seed of the pauses after failures
  /// Receives each failure after which the source continues. Called on the scheduler's thread; may
  /// be empty.
  std::function<void(const SqsNotice&)> notice;
  /// Receives the error after which the source receives no more messages: the queue does not exist,
  /// or this caller may not read it. Called on the scheduler's thread, at most once; may be empty.
  /// Stop must still be called.
  std::function<void(const Error&)> ended{};
};

/// Receives messages, passes them to a handler and deletes them. Thread-safe. A message is deleted
/// when its event is over and not before, so the messages in flight at the end of the process are
/// received again. (A message of a FIFO queue is deleted when its event is settled.)
class SqsSource {
 public:
  /// Handles the body of a message, as EventReleaser::Take does. Called on the scheduler's thread;
  /// `progress` may be called on any thread. With kInvalidArgument (the message is not an event)
  /// and kDataLoss the message is left in the queue; with any other error it is handed over again.
  using Handle = std::function<void(std::string_view body, std::optional<UnixMillis> sent,
                                    EventProgress progress)>;

  /// The client (with target prefix kSqsTargetPrefix), the scheduler and the objects that `handle`
  /// uses must outlive the source and its calls in flight.
  SqsSource(JsonClient& client, Scheduler& scheduler, Handle handle, SqsSourceOptions options);
  /// Abandons calls in flight and held messages, which are received again. After Stop has completed
  /// there are none.
  ~SqsSource();
  SqsSource(const SqsSource&) = delete;
  SqsSource& operator=(const SqsSource&) = delete;

  /// Begins to receive. Call it once. Fails with kInvalidArgument if Check(ReceiveOptions) does, if
  /// there is no visibility timeout, or if `hidden` is not longer than it.
  [[nodiscard]] Status Start();
  /// Ends the source. Call it once. `done` is called on the scheduler's thread when the messages in
  /// flight are handled and deleted, and those whose events are not over are given back to the
  /// queue. A call that waits for messages completes first (up to 20 seconds), and so does the
  /// handling of the messages that it returns. `done` gets kCancelled if the source is destroyed
  /// before.
  void Stop(Done<void> done);

  SqsStats stats() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace weir
