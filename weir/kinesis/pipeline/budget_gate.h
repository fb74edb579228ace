// A budget that producers on several hosts share: records of a shard wait here until a request for
// their part of the budget is granted (SharedBudget).
//
// Life of a record in the lane of its shard:
//
//      Put
//       |
//       v      TakeRequests, when due          OnDecision: granted
//    waiting ----------------------> asked ------------------> sent on
//     |   ^                            |
//     |   +----------------------------+ refused: wait, then request less
//     |   ^
//     |   +-----------------+ when no other record waits
//     v                     |
//    passed over -----------+
//    (would expire before the decision)
//
// A waiting or passed-over record that expires leaves by TakeExpired. Records of a pending budget
// request (requested) stay until its decision.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "weir/kinesis/pipeline/budget_pace.h"
#include "weir/kinesis/wire/record.h"

namespace weir::kinesis {

struct BudgetOptions {
  std::size_t max_records = 250;  ///< the maximum number of records of one budget request
  std::size_t max_bytes = std::size_t{256} << 10;
  /// A decision is expected within this time.
  nanoseconds answer_within = std::chrono::seconds(1);
  /// The longest pause after a refusal, whatever the refusal says.
  nanoseconds longest_wait = std::chrono::seconds(1);
};

/// A queue for each shard, without I/O; not thread-safe. One budget request of a shard is pending
/// at a time, for as many of the first records as one request may have. After a refusal the next
/// request is for half as many, down to one record: if many producers share a budget, a small
/// amount is available sooner. If a shard's budget is short, BudgetPace decides when the requests
/// are made and for how much. Records leave in the order in which they came, with one exception:
/// records that would expire while their request is pending let other records pass.
class BudgetGate {
 public:
  /// `seed` should differ between producers.
  explicit BudgetGate(const BudgetOptions& options, std::uint64_t seed = 0)
      : options_(options), rng_(seed) {}

  /// REQUIRES: record.shard.
  void Put(KinesisRecord record);
  /// Appends the budget requests that are due now. One OnDecision follows for each.
  void TakeRequests(Instant now, std::vector<BudgetRequest>& requests);
  /// Handles the decision on the pending budget request of a shard. If it was granted, its records
  /// are appended to `granted`; if it was refused, they are requested again. Ignored if no request
  /// is pending.
  void OnDecision(ShardId shard, const BudgetDecision& decision, Instant now,
                  std::vector<KinesisRecord>& granted);
  /// Appends the records that have expired and are not in a pending budget request, the records of
  /// a shard in their order.
  void TakeExpired(Instant now, std::vector<KinesisRecord>& out);
  /// Returns the time that a record which is put now takes to leave if it is granted at once: twice
  /// the time that decisions took lately. It is never more than twice `answer_within`.
  nanoseconds lead() const { return lead_; }
  /// Returns when a record expires or a budget request is due, or earlier; nothing if neither is
  /// expected.
  std::optional<Instant> NextWake() const;
  /// Appends all records. Later decisions are ignored.
  void TakeAll(std::vector<KinesisRecord>& out);

 private:
  /// The records of one shard.
  struct Lane {
    BudgetPace pace;
    std::deque<KinesisRecord> waiting{};
    std::deque<KinesisRecord> overtaken{};  // let others pass, as they would expire
    bool is_in_order = true;                // whether both queues are sorted by expiry
    // The number of records, the first of `waiting`, in the pending request.
    std::size_t requested = 0;
    // The pending budget request, if `requested` > 0.
    BudgetRequest request{};
    Instant requested_at{};
    std::optional<Instant> not_before{};  // the next request is not due before this time
    std::size_t divisor = 1;  // the divisor of the amount of one request; doubled by each refusal
  };

  /// Which records of a queue TakeExpired must leave, and whether they are sorted by expiry.
  struct ScanOptions {
    std::size_t requested = 0;  ///< the first records, of this number, must stay
    bool is_in_order = false;
  };

  /// Moves the expired records of one queue to `out`, and notes the next expiry.
  void TakeExpired(std::deque<KinesisRecord>& from, const ScanOptions& options, Instant now,
                   std::vector<KinesisRecord>& out);
  /// Lowers expires_ to the earliest expiry in the queue, without the records that must stay.
  void KeepExpiry(const std::deque<KinesisRecord>& of, const ScanOptions& options);
  /// Moves the first records to `overtaken` if they would expire before a decision.
  void PassOver(Lane& lane, Instant now) const;
  /// Returns whether a lane has no records and no pace to remember.
  bool IsIdle(const Lane& lane, Instant now) const;
  /// Returns the most that the next budget request of the lane may be for.
  BudgetAmount MostOf(const Lane& lane) const;
  /// Returns when the next budget request is due. REQUIRES: a record waits.
  static Instant DueAt(const Lane& lane);
  /// Returns the next budget request. It has no records if the first record does not fit into the
  /// rest of a turn (BudgetPace).
  BudgetRequest RequestFor(ShardId shard, const Lane& lane, Instant now) const;
  /// Begins a budget request in lane.request if one is due. Returns false if there is none.
  bool TakeRequest(ShardId shard, Lane& lane, Instant now);

  BudgetOptions options_;
  Rng rng_;
  nanoseconds lead_{0};
  // Of the shards with records, and of those with a pace to remember.
  std::map<ShardId, Lane> lanes_;
  // The earliest expiry of a record without a pending request, or earlier.
  std::optional<Instant> expires_;
  // When the next budget request is due, or earlier.
  std::optional<Instant> again_;
};

}  // namespace weir::kinesis
