// The user records that wait for a retry.
//
//     Put: failed ----> decision by RetryPolicy and RetryBudget ----> not retried: returned
//                                     |
//                                     v                 TakeDue
//                                   queued, by time ----------------> to be aggregated again
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "weir/kinesis/pipeline/order_gate.h"
#include "weir/kinesis/pipeline/retry_policy.h"
#include "weir/kinesis/wire/record.h"

namespace weir::kinesis {

/// The user records of a Kinesis record that are retried together, so that they are aggregated
/// together again. In ordered mode the Kinesis record keeps its positions in the gate until then.
struct RetryGroup {
  OrderGate::Ticket ticket = 0;
  std::vector<UserRecord> records;
  /// These records have expired, and the others of the Kinesis record wait on, with its ticket.
  bool others_wait = false;
};

/// How an attempt of a Kinesis record failed.
struct AttemptFailure {
  Attempts::Shared attempt;
  FailureClass kind = FailureClass::kPermanent;
};

/// A state machine without I/O; not thread-safe. It has no bound of its own: the producer bounds
/// the number of records without a result.
class RetryQueue {
 public:
  explicit RetryQueue(const RetryOptions& options) : options_(options), budget_(options.budget) {}

  struct Decision {
    /// The records that are not retried, with the failed attempt added, and the records that
    /// already have their results (UserRecord::is_reported).
    std::vector<UserRecord> ended;
    bool is_queued = false;  ///< the other records are queued; false: there are no others
  };
  /// Queues the records that may be retried, all for the same time: the earliest of their retry
  /// times before their expiry. If the retry of each would be too late, none is sent again. Draws
  /// one number from `rng`.
  Decision Put(RetryGroup group, const AttemptFailure& failure, Instant now, Rng& rng);
  /// Gives budget back for a Kinesis record that was stored. REQUIRES: the attempt that stored it
  /// is not in its attempts yet.
  void OnStored(const KinesisRecord& record);

  /// Removes and returns a group whose retry is due, or the records of a group that have expired
  /// before its retry; nothing if there are none.
  std::optional<RetryGroup> TakeDue(Instant now);
  /// Removes and returns all records, in the order of their retries.
  std::vector<UserRecord> TakeAll();
  /// Returns when the next retry is due or the next record expires; nothing if no record waits.
  std::optional<Instant> NextWake() const;

  /// Returns the number of user records that were queued to be sent again before they expire.
  std::uint64_t retries() const { return retries_; }

 private:
  struct Waiting {
    Instant at;  ///< the time of the retry: not after the last expiry
    RetryGroup group;
  };

  void Add(Waiting waiting);
  /// Returns whether one of the user records is retried before it expires, if the retry is within
  /// the budget. `rng` does not change, so that the retry draws the same number.
  bool WouldBeSentAgain(const std::vector<UserRecord>& records, const AttemptFailure& failure,
                        Instant now, const Rng& rng) const;

  RetryOptions options_;
  RetryBudget budget_;
  // Keyed by the time of the retry or, if it is earlier, of the first expiry.
  std::multimap<Instant, Waiting> groups_;
  std::uint64_t retries_ = 0;
};

}  // namespace weir::kinesis
