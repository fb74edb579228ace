// A budget that producers on several hosts share: records of a shard wait here until a request for
// their part of the budget is granted (SharedBudget).
//
// Life of a record in the lane of its shard:
//
//      Put
//       |
//       v      TakeRequests, when due            OnDecision: granted
//    waiting ----------------------> requested ------------------> sent on
//     |   ^                              |
//     |   +------------------------------+ refused: wait, then request less
//     |   ^
//     |   +-----------------+ when no other record waits
//     v                     |
//    passed over -----------+
//    (would expire before the decision)
//
// A waiting or passed-over record that expires leaves by TakeExpired. Records of a pending budget
// request (requested) stay until the decision on it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "weir/kinesis/pipeline/budget_pace.h"
#include "weir/kinesis/shards/shard_map.h"
#include "weir/kinesis/wire/record.h"

namespace weir::kinesis {

struct BudgetOptions {
  std::size_t max_records = 250;  ///< the maximum number of records of one budget request
  std::size_t max_bytes = std::size_t{256} << 10;
  /// A decision is expected within this time.
  nanoseconds response_within = std::chrono::seconds(1);
  /// The longest pause after a refusal, whatever the refusal says.
  nanoseconds longest_wait = std::chrono::seconds(1);
};

/// A queue for each shard, without I/O; not thread-safe. At most one budget request of a shard is
/// pending at a time. It is for as many of the first records as one request may have. After a
/// refusal the next request is for half as many, down to one record: if many producers share a
/// budget, a small amount is available sooner. If a shard's budget is short, BudgetPace decides
/// when the requests are made and for how much. Records leave in the order in which they came, with
/// one exception: records that would expire while their request is pending let other records pass.
class BudgetGate {
 public:
  /// `seed` should differ between producers.
  explicit BudgetGate(const BudgetOptions& options, std::uint64_t seed = 0)
      : options_(options), rng_(seed) {}

  /// REQUIRES: record.shard.
  void Put(KinesisRecord record);
  /// Appends the budget requests that are due now. The caller must call OnDecision once for each.
  void TakeRequests(Instant now, std::vector<BudgetRequest>& requests);
  /// Handles the decision on the pending budget request of a shard. If it was granted, its records
  /// are appended to `granted`; if it was refused, they are requested again. Ignored if no request
  /// is pending.
  void OnDecision(ShardId shard, const BudgetDecision& decision, Instant now,
                  std::vector<KinesisRecord>& granted);
  /// Appends the records that have expired and are not in a pending budget request, the records of
  /// a shard in their order.
  void TakeExpired(Instant now, std::vector<KinesisRecord>& out);
  /// Appends the records of shards that are not open any more, unless they are in a pending budget
  /// request.
  void TakeUnplaced(const ShardMap& map, std::vector<KinesisRecord>& out);
  /// Returns an estimate of how long a record that is put now stays here if the first decision on
  /// it is a grant: twice the time that recent decisions took, at most twice `response_within`.
  nanoseconds lead() const { return lead_; }
  /// Returns when a record expires or a budget request is due, or an earlier time; nothing if
  /// neither is expected.
  std::optional<Instant> NextWake() const;
  /// Appends all records. Later decisions are ignored.
  void TakeAll(std::vector<KinesisRecord>& out);

 private:
  /// The records of one shard.
  struct Lane {
    BudgetPace pace;
    std::deque<KinesisRecord> waiting{};
    std::deque<KinesisRecord> overtaken{};  // passed over: would expire before a decision
    bool is_in_order = true;                // whether both queues are sorted by expiry
    // The number of records, the first of `waiting`, in the pending request.
    std::size_t requested = 0;
    // The pending budget request, if `requested` > 0.
    BudgetRequest request{};
    Instant requested_at{};
    std::optional<Instant> not_before{};  // the next request is not due before this time
    std::size_t divisor = 1;  // the divisor of the amount of one request; doubled by each refusal
  };

  /// Which records of a queue TakeExpired must not remove, and whether the queue is sorted by
  /// expiry.
  struct ScanOptions {
    std::size_t requested = 0;  ///< this number of records at the front must stay
    bool is_in_order = false;
  };

  /// Moves the expired records of one queue to `out`, and notes the next expiry.
  void TakeExpired(std::deque<KinesisRecord>& from, const ScanOptions& options, Instant now,
                   std::vector<KinesisRecord>& out);
  /// Lowers expires_ to the earliest expiry in the queue, not counting the records that must stay.
  void KeepExpiry(const std::deque<KinesisRecord>& queue, const ScanOptions& options);
  /// Moves the first records that would expire before a decision to `overtaken`, unless even the
  /// last record would.
  void PassOver(Lane& lane, Instant now) const;
  /// Returns whether a lane has no records and no pace to remember.
  bool IsIdle(const Lane& lane, Instant now) const;
  /// Returns the maximum amount of the next budget request of the lane.
  BudgetAmount MostOf(const Lane& lane) const;
  /// Returns when the next budget request is due. REQUIRES: a record waits.
  static Instant DueAt(const Lane& lane);
  /// Returns the next budget request. It has no records if the first record does not fit into the
  /// rest of a turn (BudgetPace).
  BudgetRequest RequestFor(ShardId shard, const Lane& lane, Instant now) const;
  /// Begins a budget request in lane.request if one is due. Returns false if none was begun.
  bool TakeRequest(ShardId shard, Lane& lane, Instant now);

  BudgetOptions options_;
  Rng rng_;
  nanoseconds lead_{0};
  // The lanes of the shards that have records or a pace to remember.
  std::map<ShardId, Lane> lanes_;
  // The earliest expiry of a record without a pending request, or an earlier time.
  std::optional<Instant> expires_;
  // When the next budget request is due, or an earlier time.
  std::optional<Instant> again_;
};

}  // namespace weir::kinesis
