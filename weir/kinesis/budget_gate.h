// What producers on several hosts may send to one shard together: asked for before it is sent.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "weir/kinesis/record.h"

namespace weir::kinesis {

/// May so much go to this shard now?
struct BudgetAsk {
  ShardId shard;
  std::size_t records = 0;  ///< Kinesis records
  std::size_t bytes = 0;    ///< of their data and partition keys
  Instant until;            ///< when the answer is of no use any more
};

struct BudgetDecision {
  bool granted = false;        ///< and spent
  nanoseconds retry_after{0};  ///< of a refusal: asked before that, it would be refused again
};

struct BudgetOptions {
  std::size_t max_records = 250;  ///< asked for at once
  std::size_t max_bytes = std::size_t{256} << 10;
  nanoseconds answer_within = std::chrono::seconds(1);
  /// After a refusal, whatever that says.
  nanoseconds longest_wait = std::chrono::seconds(1);
};

/// A queue for each shard, as a value: one question at a time, for as many of the first as one
/// question may have. After a refusal it is for half as many, down to one record: among many who
/// ask, a small amount is there sooner. Records leave in the order in which they came.
class BudgetGate {
 public:
  explicit BudgetGate(const BudgetOptions& options) : options_(options) {}

  /// REQUIRES: record.shard.
  void Put(KinesisRecord record);
  /// What is to be asked now; each is answered by one OnAnswer.
  void TakeAsks(Instant now, std::vector<BudgetAsk>& asks);
  /// What may go is appended to `granted`. What was refused is asked for again.
  void OnAnswer(ShardId shard, const BudgetDecision& decision, Instant now,
                std::vector<KinesisRecord>& granted);
  /// Those that nobody asks for now, in their order.
  void TakeExpired(Instant now, std::vector<KinesisRecord>& out);
  /// When something expires, or may be asked for again.
  std::optional<Instant> Wake() const;
  /// Answers that come later are not heeded.
  void TakeAll(std::vector<KinesisRecord>& out);

 private:
  struct Lane {
    std::deque<KinesisRecord> waiting;
    std::size_t asked = 0;             // the first so many are asked for
    std::optional<Instant> refused{};  // until then nothing is asked
    std::size_t divisor = 1;           // of the amount of one request
  };

  void TakeExpired(Lane& lane, Instant now, std::vector<KinesisRecord>& out);
  BudgetAsk AskFor(ShardId shard, const Lane& lane, Instant now) const;

  BudgetOptions options_;
  std::map<ShardId, Lane> lanes_;   // none is empty
  std::optional<Instant> expires_;  // the earliest that nobody asks for, or earlier
  std::optional<Instant> again_;    // the earliest `refused`, or earlier
};

}  // namespace weir::kinesis
