// Receives from a queue, without I/O: answers go in; requests, messages and the next wake-up come
// out. Mechanism: docs/design/events.md.
//
//   receive --> hand over each message --> delete those that are done --> receive
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/reservation/sqs_wire.h"
#include "weir/runtime/backoff.h"

namespace weir {

struct SqsPollOptions {
  ReceiveOptions receive;
  /// After an answer without messages the next call is not begun earlier than so long after that
  /// one was: a service that does not wait is not asked without end.
  nanoseconds least_gap = std::chrono::seconds(1);
  /// After a round in which something failed.
  nanoseconds first_backoff = milliseconds(200);
  nanoseconds longest_backoff = std::chrono::seconds(20);  ///< REQUIRES: >= first_backoff > 0
};

struct SqsStats {
  std::uint64_t receives = 0;  ///< calls that were answered well, also without messages
  std::uint64_t received = 0;  ///< messages
  std::uint64_t deleted = 0;
  std::uint64_t bad = 0;             ///< messages that are no events; left in the queue
  std::uint64_t failed = 0;          ///< messages whose handling failed; left in the queue
  std::uint64_t not_deleted = 0;     ///< messages that were handled and will come again
  std::uint64_t receive_errors = 0;  ///< calls
  std::uint64_t delete_errors = 0;   ///< calls
};

/// Something that did not go well.
struct SqsNotice {
  std::string message_id;  ///< empty: a call
  Error error;
};

/// One round at a time, so at most as many messages are held as one call brings. A value; not
/// thread-safe.
class SqsPoll {
 public:
  struct Step {
    bool receive = false;               ///< ReceiveMessage, then OnReceived
    std::vector<SqsMessage> messages;   ///< each then OnHandled, by its place in this list
    std::vector<std::string> receipts;  ///< not empty: DeleteMessageBatch of these, then OnDeleted
    std::vector<SqsNotice> notices;
    std::optional<Instant> wake;  ///< call OnWake then
    bool stopped = false;         ///< nothing is in flight, and no call follows
    /// The queue can never be received from (no such queue, no permission): nothing is in flight,
    /// and no call follows. Stop gives the last step then as well.
    std::optional<Error> ended{};
  };

  SqsPoll(const SqsPollOptions& options, std::uint64_t seed);

  /// The first one begins.
  Step OnWake(Instant now);
  Step OnReceived(Result<std::vector<SqsMessage>> received, Instant now);
  /// kInvalidArgument: it is no event, and will not become one. It is left to the queue's own rule
  /// for messages that are received too often (its dead-letter queue), as is what failed.
  Step OnHandled(std::size_t place, const Status& handled, Instant now);
  Step OnDeleted(const Result<SqsDeleted>& deleted, Instant now);
  /// No more is received; what is under way goes on to its end, also the call that waits for
  /// messages. The step that says `stopped` is the last.
  Step Stop();

  const SqsStats& stats() const { return stats_; }

 private:
  enum class Stage { kPauses, kReceives, kHandles, kDeletes, kStopped };
  struct Held {
    std::string id;
    std::string receipt;
  };

  void Fault(std::string message_id, Error error);
  Step Delete(Instant now);
  Step EndRound(Instant now);
  Step Give() { return std::exchange(step_, {}); }

  const SqsPollOptions options_;
  Rng rng_;
  Backoff backoff_;
  Stage stage_ = Stage::kPauses;
  Instant due_{};    // of kPauses
  Instant began_{};  // the last call
  bool stopping_ = false;
  bool was_empty_ = false;   // this round
  bool has_failed_ = false;  // something of this round
  std::vector<Held> held_;
  std::size_t unhandled_ = 0;
  std::vector<std::string> handled_;  // receipts
  Step step_;                         // as far as it is made
  SqsStats stats_;
};

}  // namespace weir
