// What producers on several hosts may send to one shard together: asked for before it is sent.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "weir/kinesis/budget_pace.h"
#include "weir/kinesis/record.h"

namespace weir::kinesis {

struct BudgetOptions {
  std::size_t max_records = 250;  ///< asked for at once
  std::size_t max_bytes = std::size_t{256} << 10;
  nanoseconds answer_within = std::chrono::seconds(1);
  /// After a refusal, whatever that says.
  nanoseconds longest_wait = std::chrono::seconds(1);
};

/// A queue for each shard, as a value: one question at a time, for as many of the first as one
/// question may have. After a refusal it is for half as many, down to one record: among many who
/// ask, a small amount is there sooner. A shard that is short is asked for at a pace of its own
/// (budget_pace.h). Records leave in the order in which they came, except those that would expire
/// while they are asked for: they let those pass that would not.
class BudgetGate {
 public:
  /// `seed`: another one in each producer.
  explicit BudgetGate(const BudgetOptions& options, std::uint64_t seed = 0)
      : options_(options), rng_(seed) {}

  /// REQUIRES: record.shard.
  void Put(KinesisRecord record);
  /// What is to be asked now; each is answered by one OnAnswer.
  void TakeAsks(Instant now, std::vector<BudgetAsk>& asks);
  /// What may go is appended to `granted`. What was refused is asked for again.
  void OnAnswer(ShardId shard, const BudgetDecision& decision, Instant now,
                std::vector<KinesisRecord>& granted);
  /// Those that nobody asks for now, in their order.
  void TakeExpired(Instant now, std::vector<KinesisRecord>& out);
  /// What is put now is granted after about this duration, if it is granted at once; twice what
  /// answers took lately.
  nanoseconds lead() const { return lead_; }
  /// When something expires, or may be asked for again.
  std::optional<Instant> Wake() const;
  /// Answers that come later are not heeded.
  void TakeAll(std::vector<KinesisRecord>& out);

 private:
  struct Lane {
    BudgetPace pace;
    std::deque<KinesisRecord> waiting{};
    std::deque<KinesisRecord> passed{};  // by others; they expire
    bool is_in_order = true;             // records expire in the order of the queues
    std::size_t asked = 0;               // the first so many are asked for
    BudgetAsk ask{};                     // that
    Instant asked_at{};
    std::optional<Instant> refused{};  // until then nothing is asked
    std::size_t divisor = 1;           // of the amount of one request
  };

  /// What of a queue must stay, and whether its records expire in their order.
  struct Kept {
    std::size_t asked = 0;  ///< the first so many
    bool is_in_order = false;
  };

  void TakeExpired(std::deque<KinesisRecord>& from, const Kept& kept, Instant now,
                   std::vector<KinesisRecord>& out);
  void KeepExpiry(const std::deque<KinesisRecord>& of, const Kept& kept);
  void PassOver(Lane& lane, Instant now) const;
  bool Forget(const Lane& lane, Instant now) const;
  BudgetAmount MostOf(const Lane& lane) const;
  /// When the next question is due.
  static Instant DueAt(const Lane& lane);
  /// Of no records: the first does not fit into the rest of a turn.
  BudgetAsk AskFor(ShardId shard, const Lane& lane, Instant now) const;
  bool TakeAsk(ShardId shard, Lane& lane, Instant now);

  BudgetOptions options_;
  Rng rng_;
  nanoseconds lead_{0};
  std::map<ShardId, Lane> lanes_;   // those with records, and those whose pace is remembered
  std::optional<Instant> expires_;  // the earliest that nobody asks for, or earlier
  std::optional<Instant> again_;    // when the next question is due, or earlier
};

}  // namespace weir::kinesis
