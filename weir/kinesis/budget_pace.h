// How often one producer asks for a shard that is short, and for how much.
// Mechanism: docs/design/kinesis.md, "One budget for several producers".
#pragma once

#include <cstdint>
#include <optional>

#include "weir/base/rng.h"
#include "weir/kinesis/record.h"

namespace weir::kinesis {

/// Kinesis records, and bytes of their data and partition keys.
struct BudgetAmount {
  std::size_t records = 0;
  std::size_t bytes = 0;
};

/// The bucket of a shard, just before a decision about it.
struct BudgetBalance {
  BudgetAmount left;
  BudgetAmount capacity;  ///< none is 0
};

/// May so much go to this shard now?
struct BudgetAsk {
  ShardId shard;
  std::size_t records = 0;  ///< Kinesis records
  std::size_t bytes = 0;    ///< of their data and partition keys
  Instant until;            ///< when the answer is of no use any more
  /// The answer must tell the balance that the store has now: nothing taken ahead serves it.
  bool is_paced = false;
};

struct BudgetDecision {
  bool granted = false;        ///< and spent
  nanoseconds retry_after{0};  ///< of a refusal: asked before that, it would be refused again
  std::optional<BudgetBalance> balance{};  ///< nothing: not known
};

/// A value without I/O, for one producer and one shard. It begins unpaced. When an answer leaves
/// less than seven tenths of the bucket, questions come in turns: the first question of a turn is
/// about one record and tells the balance, the second takes the rest of a fixed part of that
/// balance. All producers take the same part, so they have equal shares in equal intervals without
/// knowing each other, and together they leave a part of any balance. It is unpaced again when a
/// turn finds the bucket nearly full.
class BudgetPace {
 public:
  /// A turn takes this part of the balance.
  static constexpr std::size_t kPart = 8;
  /// Between turns that take the whole part.
  static constexpr nanoseconds kLongest = milliseconds(3'000);
  static constexpr nanoseconds kShortest = milliseconds(50);

  /// `seed`: another one in each producer, so that their turns do not coincide.
  explicit BudgetPace(std::uint64_t seed) : rng_(seed) {}

  bool is_paced() const { return paced_; }
  /// Whether the next question is the second of its turn.
  bool has_looked() const { return looked_; }
  /// The most that the next question may be about, besides that the first of a turn may be about
  /// one record of any size. REQUIRES: is_paced().
  BudgetAmount portion() const;
  /// When the next question is due if the first record expires at `expires`: earlier than usual for
  /// a record that would expire, if the producer has used less than its share.
  /// REQUIRES: is_paced().
  Instant Next(Instant expires) const;
  /// A question is asked now. One answer follows.
  void OnAsk(Instant now);
  /// The answer to it. `more`: further records wait.
  void OnAnswer(const BudgetAsk& ask, const BudgetDecision& decision, bool more, Instant now);
  /// Nothing that waits fits into the portion.
  void EndTurn();
  /// Whether it can be dropped while nothing waits.
  bool IsForgotten(Instant now) const { return !paced_ || now >= next_ + 2 * kLongest; }

 private:
  void OnUnpaced(const BudgetAsk& ask, const BudgetDecision& decision, Instant now);
  /// False: the bucket is nearly full.
  bool Look(const BudgetBalance& balance);

  Rng rng_;
  bool paced_ = false;
  bool looked_ = false;
  nanoseconds spacing_ = kLongest;
  BudgetAmount target_;  ///< of a turn
  BudgetAmount asked_;   ///< by the first question of this turn
  double used_ = 0;      ///< of the target, in this turn
  Instant began_;        ///< this turn
  Instant next_;         ///< the next turn
};

}  // namespace weir::kinesis
