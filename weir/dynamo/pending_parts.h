// The parts of one bucket's actor, from their acceptance to their outcomes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weir/dynamo/part_queue.h"
#include "weir/dynamo/table.h"
#include "weir/dynamo/write_fence.h"

namespace weir::dynamo {

/// What became of parts in one step.
struct PartReports {
  std::vector<PartOutcome> outcomes{};
  std::int64_t forfeits = 0;  ///< parts whose outcome will never be known
};

/// Owns the parts; every part whose caller waits is reported exactly once. `key` and `last_part`
/// (the latest identifier of a part in this process) must outlive it. Not thread-safe.
class PendingParts {
 public:
  PendingParts(const BucketKey& key, PartId& last_part) : key_(key), last_part_(last_part) {}

  void Accept(Part part);
  /// The part is here, and was not reported.
  bool IsWaiting(PartId part) const;
  /// The call wants the part no longer. Unless it is gone, its outcome will come, or was reported
  /// in this step.
  struct Withdrawal {
    bool is_gone = false;
    bool in_doubt = false;  ///< it may have been charged
  };
  Withdrawal Withdraw(PartId part);
  /// The caller of the part has its answer. Gone: nothing was charged now. Otherwise a write
  /// carries it, which settles it: a take that is charged is given back; if its request was
  /// admitted (`keeps`), it stays charged, and is debited if the write was not applied.
  Withdrawal Drop(PartId part, bool keeps);
  /// Returns the part's tokens; if the part `keeps` them, they were not taken, and are debited.
  void GiveBack(Part taken, Instant now);

  /// A write that carries them is sent.
  void Carry(const std::vector<PartId>& parts);
  /// `is_final`: the parts in doubt are not written again, whatever they are.
  void Settle(const WriteFence::Settlement& settled, bool is_final, Instant now,
              PartReports& reports);
  /// Nothing is to be written for the part.
  void OnApplied(Part& part, Instant now, PartReports& reports);
  /// A write with them failed because of other processes' writes.
  void OnLost(const std::vector<PartId>& parts, PartReports& reports);
  /// A write with them was not applied, as the table says.
  void OnNotSent(const std::vector<PartId>& parts, const WriteFailure& failure,
                 PartReports& reports);
  /// A write with them has no response: a caller that is refused anyhow does not wait for it.
  void AnswerRepairs(const std::vector<PartId>& parts, PartReports& reports);

  /// Reports parts whose deadline has passed, and drops those that no write carries.
  void Expire(Instant now, PartReports& reports);
  /// A read failed, or the item cannot be used. Adjusts are tried again if that may help.
  void Fail(const Error& error, PartReports& reports);
  /// An image came, if perhaps one from before the part; or there is none to be had.
  void EndLooks(const std::optional<Error>& error, PartReports& reports);
  /// An image came that shows the item as it was after these parts were accepted.
  void NoteImage(PartId last);
  /// The part leaves, with those that repeat it.
  void End(PartId part, PartOutcome outcome, PartReports& reports);

  /// Why requests fail now, for callers whose time ends; nothing if writes are applied.
  void SetLastError(std::optional<Error> error) { last_error_ = std::move(error); }
  /// The earliest time at which Expire has something to do.
  Instant wake() const;
  /// Only what gives back is to be accepted.
  bool is_full() const { return queue_.size() >= kMostParts; }
  const PartQueue& queue() const { return queue_; }
  PartQueue& queue() { return queue_; }

 private:
  static constexpr std::size_t kMostParts = 4096;

  void NotApplied(Part& part, Instant now);
  void Unknown(Part& part, bool is_final, Instant now, PartReports& reports);
  void Expired(PartId part, Instant now, PartReports& reports);
  static void Report(const Part& part, PartOutcome outcome, PartReports& reports);

  const BucketKey& key_;
  PartId& last_part_;
  PartQueue queue_;
  std::optional<Error> last_error_;
};

}  // namespace weir::dynamo
