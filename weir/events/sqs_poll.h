// Receives from a queue, without I/O: answers go in; requests, messages and the next wake-up come
// out. Mechanism: docs/design/events.md.
//
//   receive --> hand over each message --> delete it when its event is over
//                  |            \--> hide it while its event is not over
//                  \--> hide it and hand it over again while its handling fails
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
  /// Its visibility must be longer than a message's handling takes.
  ReceiveOptions receive{.visibility = std::chrono::seconds(60)};
  /// How long a message is hidden whose event is not over, and then again: longer than its
  /// visibility and a round. It comes again when this process is no more.
  std::chrono::seconds hidden{240};
  /// False: a message is deleted once it is handled, though its event is not over. For a FIFO
  /// queue, where a hidden message stops those behind it.
  bool holds = true;
  /// After an answer without messages the next call is not begun earlier than so long after that
  /// one was: a service that does not wait is not asked without end.
  nanoseconds least_gap = std::chrono::seconds(1);
  /// After a round in which something failed.
  nanoseconds first_backoff = milliseconds(200);
  nanoseconds longest_backoff = std::chrono::seconds(5);  ///< REQUIRES: >= first_backoff > 0
  /// While so many messages are held whose handling failed, only every tenth round receives, a
  /// message: the store is away, or something is wrong with each of them.
  std::size_t most_failing = 10;
  /// Once a message's handling failed so often, and another's succeeds, it is left in the queue.
  std::uint32_t most_failures = 20;
  /// Nothing is received beyond. Not above ReleaseOptions::most_pending less the messages of a
  /// call.
  std::size_t most_held = 9'990;
};

struct SqsStats {
  std::uint64_t receives = 0;  ///< calls that were answered well, also without messages
  std::uint64_t received = 0;  ///< messages
  std::uint64_t deleted = 0;
  std::uint64_t bad = 0;             ///< messages that are no events; left in the queue
  std::uint64_t failed = 0;          ///< handlings that failed
  std::uint64_t not_deleted = 0;     ///< messages that were handled and will come again
  std::uint64_t receive_errors = 0;  ///< calls
  std::uint64_t delete_errors = 0;   ///< calls
  std::uint64_t hide_errors = 0;     ///< calls; their messages may come again
  std::size_t held = 0;              ///< messages, now
};

/// Something that did not go well.
struct SqsNotice {
  std::string message_id;  ///< empty: a call
  Error error;
  bool is_left = false;  ///< the message is not handled again by this process: left in the queue
};

/// A value; not thread-safe.
class SqsPoll {
 public:
  /// Names a message that is held. 0 is never used.
  using Key = std::uint64_t;

  struct HandOver {
    Key key = 0;
    std::string body;
    std::optional<UnixMillis> sent{};
  };
  struct Step {
    std::optional<ReceiveOptions> receive{};  ///< ReceiveMessage, then OnReceived
    std::vector<HandOver> messages{};         ///< each then OnHandled
    std::vector<std::string> receipts{};      ///< not empty: DeleteMessageBatch, then OnDeleted
    std::vector<SqsHiding> hidings{};  ///< not empty: ChangeMessageVisibilityBatch, then OnHidden
    std::vector<SqsNotice> notices{};
    std::optional<Instant> wake{};  ///< call OnWake then
    bool stopped = false;           ///< nothing is in flight, and no call follows
    /// The queue can never be received from (no such queue, no permission): no call to receive
    /// follows. Stop remains to be called.
    std::optional<Error> ended{};
  };

  SqsPoll(const SqsPollOptions& options, std::uint64_t seed);

  /// The first one begins.
  Step OnWake(Instant now);
  Step OnReceived(Result<std::vector<SqsMessage>> received, Instant now);
  /// True: its event is not over, and OnOver follows. kInvalidArgument: it is no event, and will
  /// not become one. It is left to the queue's own rule for messages that are received too often
  /// (its dead-letter queue), as is what can never be handled. What may be handled later is held.
  Step OnHandled(Key key, const Result<bool>& handled, Instant now);
  /// An error: its message is not deleted, and comes again, perhaps to this process.
  Step OnOver(Key key, const Status& over, Instant now);
  Step OnDeleted(const Result<SqsBatchOutcome>& deleted, Instant now);
  Step OnHidden(const Result<SqsBatchOutcome>& hidden, Instant now);
  /// No more is received; what is under way goes on to its end, also the call that waits for
  /// messages. What is held then is given back to the queue. The step that says `stopped` is the
  /// last.
  Step Stop(Instant now);

  SqsStats stats() const;

 private:
  enum class State { kHandling, kFailing, kNotOver };
  struct Held {
    SqsMessage message;
    State state = State::kHandling;
    std::uint32_t failures = 0;
    Instant hidden_until{};  // of kNotOver
  };

  void Receive();
  void OnFailed(Key key, Held& held, const Error& error, Instant now);
  void LeaveWhatAlwaysFails();
  void Handle(Key key, Held& held);
  void HandleFailing();
  void HideAgain(Instant now);
  void Hide(Key key, Held& held, Instant now);
  void Delete(Key key);
  SqsMessage LetGo(Key key);
  void Fault(std::string message_id, Error error);
  bool IsIdle() const;
  bool IsDue(std::size_t receipts) const;
  void GiveBack();
  void EndRound(Instant now);
  Step Go(Instant now);

  const SqsPollOptions options_;
  Rng rng_;
  Backoff backoff_;
  bool in_round_ = false;
  Instant due_{};                  // of the next round
  Instant began_{};                // the last round
  std::uint32_t full_rounds_ = 0;  // in a row, with too many that fail
  // Of this round.
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
  std::size_t failing_ = 0;  // of the held
  std::deque<std::string> to_delete_;
  std::map<Key, SqsHiding> to_hide_;
  std::set<std::pair<Instant, Key>> hidden_until_;  // of kNotOver
  Step step_;                                       // as far as it is made
  SqsStats stats_;
};

}  // namespace weir
