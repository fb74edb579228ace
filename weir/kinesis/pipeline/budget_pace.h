// How often one producer requests the budget of a shard that is short, and for how much.
// Mechanism: docs/design/kinesis.md, "One budget for several producers".
//
//            less than 0.7 of the bucket is left
//   unpaced --------------------------------------> between turns <----------+
//      ^                                                  |                  |
//      |                                                  | NextDue           | EndTurn
//      | the bucket is nearly full                        v                  |
//      +----------------------------------- first request: one record; ------+
//                                           returns the balance              |
//                                                         | granted, and     |
//                                                         v more wait        |
//                                           second request: the rest of -----+
//                                           the turn's part
#pragma once

#include <cstdint>
#include <optional>

#include "weir/base/rng.h"
#include "weir/kinesis/wire/record.h"

namespace weir::kinesis {

/// A number of Kinesis records, and of bytes of their data and partition keys.
struct BudgetAmount {
  std::size_t records = 0;
  std::size_t bytes = 0;
};

/// The bucket of a shard just before a decision on it. If records or bytes have no limit, their
/// capacity is 0 and `left` is large: a turn takes a part of it (BudgetPace).
struct BudgetBalance {
  BudgetAmount left;
  BudgetAmount capacity;
};

/// A budget request: may this amount be sent to this shard now?
struct BudgetRequest {
  ShardId shard;
  std::size_t records = 0;  ///< Kinesis records
  std::size_t bytes = 0;    ///< the size of the data and partition keys of the records
  Instant until;            ///< a decision after this time is of no use
  /// The decision must come from the store and contain the current balance; it must not be served
  /// from tokens that were taken in advance.
  bool is_paced = false;
};

struct BudgetDecision {
  bool granted = false;  ///< if true, the amount is spent
  /// The wait after a refusal: an earlier request would be refused again.
  nanoseconds retry_after{0};
  std::optional<BudgetBalance> balance{};  ///< nothing: not known
};

/// The pace of one producer at one shard, without I/O; not thread-safe. It begins unpaced. When a
/// decision leaves less than seven tenths of the bucket, budget requests come in turns: the first
/// request of a turn is for one record and returns the balance, the second takes the rest of a
/// fixed part of that balance. All producers take the same part, so they get equal shares in equal
/// intervals without knowing of each other, and together they leave a part of any balance. The
/// producer is unpaced again when a turn finds the bucket nearly full.
class BudgetPace {
 public:
  /// A turn takes the balance divided by this.
  static constexpr std::size_t kPart = 8;
  /// The longest and the shortest time between turns that take the whole part.
  static constexpr nanoseconds kLongest = milliseconds(3'000);
  static constexpr nanoseconds kShortest = milliseconds(50);

  /// `seed` should differ between producers, so that their turns do not coincide.
  explicit BudgetPace(std::uint64_t seed) : rng_(seed) {}

  bool is_paced() const { return paced_; }
  /// Returns whether the next budget request is the second one of its turn.
  bool is_second() const { return is_second_; }
  /// Returns the maximum amount of the next budget request. The first request of a turn may also be
  /// for one record of any size. REQUIRES: is_paced().
  BudgetAmount portion() const;
  /// Returns when the next budget request is due if the first record expires at `expires`. It is
  /// due earlier than usual if this record would expire before then and the producer has used less
  /// than its share.
  /// REQUIRES: is_paced().
  Instant NextDue(Instant expires) const;
  /// Notes that a budget request is sent now. The caller must then call OnDecision once.
  void OnRequest(Instant now);
  /// Handles the decision on a budget request. `has_more`: further records wait. A decision without
  /// a balance does not change target and spacing.
  void OnDecision(const BudgetRequest& request, const BudgetDecision& decision, bool has_more,
                  Instant now);
  /// Ends a turn without its second request: the first waiting record does not fit into the
  /// portion.
  void EndTurn();
  /// Returns whether this pace can be discarded while no record waits.
  bool IsForgotten(Instant now) const { return !paced_ || now >= next_ + 2 * kLongest; }

 private:
  /// Handles a decision while unpaced; begins the pace if the bucket is short.
  void OnUnpaced(const BudgetRequest& request, const BudgetDecision& decision, Instant now);
  /// Adapts spacing and target to the balance that the first request of a turn returned. Returns
  /// false if the bucket is nearly full.
  bool OnBalance(const BudgetBalance& balance);

  Rng rng_;
  bool paced_ = false;
  /// Whether the first request of this turn is decided and the second one is next.
  bool is_second_ = false;
  /// The time between turns that take the whole part.
  nanoseconds spacing_ = kLongest;
  /// The amount that one turn takes in all.
  BudgetAmount target_;
  /// The amount of the first request of this turn.
  BudgetAmount asked_;
  /// The fraction of the target that this turn has used; more than 1 after a large record.
  double used_fraction_ = 0;
  Instant began_;  ///< the time at which this turn began
  Instant next_;   ///< the time at which the next turn begins, at the latest
};

}  // namespace weir::kinesis
