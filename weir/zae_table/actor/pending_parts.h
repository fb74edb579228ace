// The parts of one bucket's actor, from their acceptance to their outcomes.
//
//            Accept           Carry              Settle
//   caller ---------> queued -------> carried -----------> applied, unknown: outcome
//                     |   ^              |
//                     |   +--------------+
//                     |     not applied; or unknown, if the part is written once more
//                     +--> outcome, if the part fails, expires or is withdrawn
//
// A caller may leave first (Drop, Expire). Then a queued take is removed. A carried take is
// settled: if it was applied, its tokens are given back by another part (QueueReturn).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weir/dynamodb/table.h"
#include "weir/zae_table/actor/part_queue.h"
#include "weir/zae_table/actor/write_fence.h"

namespace weir::dynamo {

/// The outcomes of parts in one step.
struct PartReports {
  std::vector<PartOutcome> outcomes{};
  std::int64_t forfeits = 0;  ///< parts whose outcome will never be known
};

/// Owns the parts. Each part whose caller waits is reported exactly once. `key` and `last_part`
/// (the latest identifier of a part in this process) must outlive it. Not thread-safe.
class PendingParts {
 public:
  PendingParts(const BucketKey& key, PartId& last_part) : key_(key), last_part_(last_part) {}

  void Accept(Part part);
  /// Returns true if the part is here and was not reported.
  bool IsWaiting(PartId part) const;
  /// The result of removing a part that its call no longer wants. If the part is not gone, its
  /// outcome will be reported, or was reported in this step.
  struct Withdrawal {
    bool is_gone = false;   ///< it is here no longer, and will not be reported
    bool in_doubt = false;  ///< it may have been charged
  };
  /// Removes the part unless a write carries it or it has ended in this step.
  Withdrawal Withdraw(PartId part);
  /// The caller of the part has its result. If no write carries the part, it is removed, and will
  /// not be charged. Otherwise the outcome of the write settles it: a take that was applied is
  /// given back. If the request was admitted (`keeps`), an applied take stays charged instead, and
  /// a take that was not applied is debited.
  Withdrawal Drop(PartId part, bool keeps);
  /// Queues the return of the part's tokens to the bucket. If its caller keeps the tokens, they
  /// were not taken, and are debited instead.
  void QueueReturn(Part taken, Instant now);

  /// A write that carries these parts is sent.
  void Carry(const std::vector<PartId>& parts);
  /// Ends or requeues parts whose outcome the fence reports. `is_final`: no unknown part is written
  /// again.
  void Settle(const WriteFence::Settlement& settled, bool is_final, Instant now,
              PartReports& reports);
  /// The part is applied, or nothing needs to be written for it.
  void OnApplied(Part& part, Instant now, PartReports& reports);
  /// A write with these parts failed because of writes of other processes.
  void OnLost(const std::vector<PartId>& parts, PartReports& reports);
  /// A write with these parts was certainly not applied, for another reason.
  void OnNotApplied(const std::vector<PartId>& parts, const WriteFailure& failure,
                    PartReports& reports);
  /// A write with these parts has no response. Reports the repairs among them: a caller that is
  /// refused anyway does not wait until the write is settled.
  void CompleteRepairs(const std::vector<PartId>& parts, PartReports& reports);

  /// Reports parts whose deadline has passed. Removes those that no write carries, but adjusts only
  /// at their `drop_by`.
  void Expire(Instant now, PartReports& reports);
  /// A read failed, or the item cannot be used. Ends all parts that no write carries, except those
  /// of kind kWait, and adjusts if a retry may help.
  void Fail(const Error& error, PartReports& reports);
  /// Ends all looks: an image arrived, possibly one that is older than the look; or `error` says
  /// why no image can be read.
  void EndLooks(const std::optional<Error>& error, PartReports& reports);
  /// An image came that shows the item as it was after the parts up to `last` were accepted.
  void NoteImage(PartId last);
  /// Removes the part and its repetitions, and reports them.
  void End(PartId part, PartOutcome outcome, PartReports& reports);

  /// Sets the reason why requests fail at present; nothing while writes are applied. A part that is
  /// dropped before its `report_by` reports this error.
  void SetLastError(std::optional<Error> error) { last_error_ = std::move(error); }
  /// Returns the earliest time at which Expire has something to do.
  Instant wake() const;
  /// Only parts that give back may be accepted.
  bool is_full() const { return queue_.size() >= kMaxParts; }
  const PartQueue& queue() const { return queue_; }
  PartQueue& queue() { return queue_; }

 private:
  static constexpr std::size_t kMaxParts = 4096;

  // Adds the amounts to those of a return or debit that no write has carried, if there is one of
  // the same target and sign. Returns false if there is none.
  bool AddToPendingReturn(const Part& part, Instant now);
  // No write carries the part any more. It is queued again if its caller waits or it is an adjust.
  void NotApplied(Part& part, Instant now);
  // The part may have been applied. A take or debit, but no adjust without a record in the table,
  // is written again, once; any other part ends in doubt.
  void OnUnknown(Part& part, bool is_final, Instant now, PartReports& reports);
  // Ends a part whose time is over. If a write carries the part, only reports a result to its
  // caller.
  void Expired(PartId part, Instant now, PartReports& reports);
  // Adds an outcome, if a caller waits for it or an adjust's id must be recorded.
  static void Report(const Part& part, PartOutcome outcome, PartReports& reports);

  const BucketKey& key_;
  PartId& last_part_;
  PartQueue queue_;
  std::optional<Error> last_error_;
};

}  // namespace weir::dynamo
