// Receives messages from a queue and deletes them when their events are over: a state machine
// without I/O. Its inputs are results; its outputs are requests, messages and the time of the next
// call. Mechanism: docs/design/events.md.
//
// States of a message:
//
//   state      event                                               next state
//   (new)      OnReceived                                          kHandling
//   kHandling  OnHandled, its event is over,                       (deleted)
//                or keeps_until_over is false
//   kHandling  OnHandled, its event is pending                     kPending, hidden repeatedly
//   kHandling  OnHandled, an error of the message                  (left in the queue)
//   kHandling  OnHandled, another error                            kFailing, hidden once
//   kFailing   the next round begins                               kHandling
//   kFailing   a round ends: max_failures handlings have failed,   (left in the queue)
//                and that of another message has succeeded
//   kPending   OnEventOver, success                                (deleted)
//   kPending   OnEventOver, an error                               (left in the queue)
//   kPending   Stop                                                (given back to the queue)
//   kFailing   Stop                                                (given back to the queue)
//
// A message that is left in the queue is received again after its visibility timeout; one that is
// given back may be received again at once. The redrive policy of the queue applies to both.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/events/sqs_wire.h"
#include "weir/runtime/backoff.h"

namespace weir {

struct SqsPollOptions {
  /// The visibility timeout must be set, and longer than the handling of a message takes.
  ReceiveOptions receive{.visibility = std::chrono::seconds(60)};
  /// Time for which a message is hidden while its event is pending; before it has passed, the
  /// message is hidden again. Must be longer than the visibility timeout and a round together. If
  /// this process ends, the message is received again after this time.
  std::chrono::seconds hidden{240};
  /// If false, a message is deleted when its event is settled, even if the event is still pending.
  /// For FIFO queues, in which a hidden message stops the messages behind it.
  bool keeps_until_over = true;
  /// Minimum time between the starts of two calls if the first returned no messages, so that a
  /// service that does not wait for messages is not called in a tight loop.
  nanoseconds least_gap = std::chrono::seconds(1);
  /// Bounds of the pause after a round with a failure.
  nanoseconds first_backoff = milliseconds(200);
  nanoseconds longest_backoff = std::chrono::seconds(5);  ///< REQUIRES: >= first_backoff > 0
  /// While at least this many held messages fail, only every tenth round receives, and only one
  /// message: the store is unavailable, or each of the failing messages has a defect.
  std::size_t max_failing = 10;
  /// A message whose handling failed this many times is left in the queue at the end of a round in
  /// which the handling of another message succeeded.
  std::uint32_t max_failures = 20;
  /// While this many messages are held, no more are received. Must be at most
  /// ReleaseOptions::max_pending less the messages of one call.
  std::size_t max_held = 9'990;
};

struct SqsStats {
  std::uint64_t receives = 0;  ///< successful calls of ReceiveMessage, also without messages
  std::uint64_t received = 0;  ///< received messages
  std::uint64_t deleted = 0;   ///< deleted messages
  std::uint64_t bad = 0;       ///< messages that are not events, and were left in the queue
  std::uint64_t failed = 0;    ///< failed handlings of other messages
  /// Messages that were handled but not deleted, so they will be received again.
  std::uint64_t not_deleted = 0;
  std::uint64_t receive_errors = 0;  ///< failed calls of ReceiveMessage
  std::uint64_t delete_errors = 0;   ///< failed calls of DeleteMessageBatch
  /// Failed calls of ChangeMessageVisibilityBatch; their messages may be received again.
  std::uint64_t hide_errors = 0;
  std::size_t held = 0;  ///< messages that are held now
};

/// The report of a failure.
struct SqsNotice {
  std::string message_id;  ///< empty: the failure of a call
  Error error;
  bool is_abandoned = false;  ///< the message is no longer held, and left in the queue
};

/// Not thread-safe.
class SqsPoll {
 public:
  /// Identifies a held message. 0 is never used.
  using Key = std::uint64_t;

  struct HandOver {
    Key key = 0;
    std::string body;
    std::optional<UnixMillis> sent{};
  };
  struct Step {
    std::optional<ReceiveOptions> receive{};  ///< call ReceiveMessage, then OnReceived
    std::vector<HandOver> messages{};         ///< handle each, then call OnHandled
    std::vector<std::string> receipts{};      ///< if any: call DeleteMessageBatch, then OnDeleted
    std::vector<SqsHiding> hidings{};  ///< if any: call ChangeMessageVisibilityBatch, then OnHidden
    std::vector<SqsNotice> notices{};
    std::optional<Instant> wake{};  ///< call OnWake at this time
    bool stopped = false;           ///< nothing is in flight, and no call follows
    /// Set if the queue cannot be received from (no such queue, no permission). No call to receive
    /// follows; Stop must still be called.
    std::optional<Error> ended{};
  };

  SqsPoll(const SqsPollOptions& options, std::uint64_t seed);

  /// Begins a round if it is due. The first call begins the first round.
  Step OnWake(Instant now);
  Step OnReceived(Result<std::vector<SqsMessage>> received, Instant now);
  /// Reports the result of a handling (EventProgress::settled). The value is true if the event is
  /// still pending: OnEventOver follows. kInvalidArgument: the message is not an event. kDataLoss:
  /// it cannot be handled. After these two errors it is left in the queue; after any other error it
  /// is held and handled again.
  Step OnHandled(Key key, const Result<bool>& settled, Instant now);
  /// Reports that a pending event is over (EventProgress::over). After an error the message is not
  /// deleted, and is received again, perhaps by this process.
  Step OnEventOver(Key key, const Status& status, Instant now);
  Step OnDeleted(const Result<SqsBatchOutcome>& deleted, Instant now);
  Step OnHidden(const Result<SqsBatchOutcome>& hidden, Instant now);
  /// Begins the stop: no further call to receive follows. Calls and handlings in flight complete,
  /// also a call that waits for messages; then the held messages are given back to the queue. The
  /// step with `stopped` is the last.
  Step Stop(Instant now);

  SqsStats stats() const;

 private:
  enum class State { kHandling, kFailing, kPending };
  struct Held {
    SqsMessage message;
    State state = State::kHandling;
    std::uint32_t failures = 0;
    Instant hidden_until{};  // in kPending
  };

  /// Adds the round's call to receive to the step, unless too many messages are held or failing.
  void ReceiveIfRoom();
  /// Processes the error of a handling.
  void OnFailed(Key key, Held& held, const Error& error, Instant now);
  /// Leaves the messages whose handling failed max_failures times in the queue, if the handling of
  /// another message succeeded in this round.
  void AbandonFailing();
  /// Hands over one message.
  void HandOverMessage(Key key, Held& held);
  /// Hands over the messages in kFailing again.
  void RetryFailing();
  /// Queues further hidings of messages that become visible soon.
  void HideAgain(Instant now);
  /// Queues the hiding of a message.
  void QueueHiding(Key key, Held& held, Instant now);
  /// Queues the deletion of a message, which is then no longer held.
  void QueueDeletion(Key key);
  /// Removes a message from the held ones and returns it.
  SqsMessage RemoveHeld(Key key);
  /// Reports a failure, after which the round is followed by a pause.
  void ReportFault(std::string message_id, Error error);
  /// Returns whether nothing is in flight or queued.
  bool IsIdle() const;
  /// Returns whether this many queued receipts are sent now.
  bool IsDue(std::size_t receipts) const;
  /// Queues a hiding of 0 seconds for each held message, so that other processes receive it.
  void GiveBack();
  /// Ends the round and sets the time of the next.
  void EndRound(Instant now);
  /// Adds the calls that are due to the step and returns it.
  Step FinishStep(Instant now);

  const SqsPollOptions options_;
  Rng rng_;
  Backoff backoff_;
  bool in_round_ = false;
  Instant due_{};                  // start of the next round
  Instant began_{};                // start of the last round
  std::uint32_t full_rounds_ = 0;  // consecutive rounds with max_failing failing messages
  // State of this round.
  bool was_empty_ = false;
  bool has_failed_ = false;
  bool has_succeeded_ = false;
  // In flight.
  bool receiving_ = false;
  bool hiding_ = false;
  std::size_t deleting_ = 0;  // receipts
  std::size_t handling_ = 0;

  bool stopping_ = false;
  bool stopped_ = false;
  bool ended_ = false;
  Key last_key_ = 0;
  std::map<Key, Held> held_;
  std::size_t failing_ = 0;            // held messages in kFailing
  std::deque<std::string> to_delete_;  // queued receipts
  std::map<Key, SqsHiding> to_hide_;   // queued hidings
  // The messages in kPending, by the end of their hiding.
  std::set<std::pair<Instant, Key>> hidden_until_;
  Step step_;  // the step that is being made
  SqsStats stats_;
};

}  // namespace weir
