// What one shard may be sent, and what waits for it.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "weir/bucket/bucket.h"
#include "weir/kinesis/record.h"

namespace weir::kinesis {

struct ShardLimiterOptions {
  /// What a shard takes: 1000 records and 1 MiB a second, of data and partition keys (Amazon
  /// Kinesis Data Streams developer guide, "Quotas and limits"). Their capacities are how much goes
  /// out at once. REQUIRES: Validate of each.
  Quota records = PerSecond(1000);
  Quota bytes = PerSecond(1024 * 1024);
  /// Of the rates, in percent: what is left after a throttle, and at least.
  std::int64_t after_throttle = 95;
  std::int64_t at_least = 5;
  /// Throttles within this time after one that slowed the shard down do not count: they are answers
  /// to what was sent before.
  nanoseconds deaf = milliseconds(250);
  /// The rate comes back by a hundredth of the full rate in this time.
  nanoseconds recovery = std::chrono::seconds(1);
};

/// A queue in front of one bucket of two limits, as a value. Records leave in the order of their
/// deadlines, those put first among equals; one that does not fit holds back the later ones. One
/// that would expire on its way lets those pass that would not. A record beyond a capacity leaves
/// when the bucket is full, on debt. Times are rounded down to whole milliseconds since the limiter
/// was made.
class ShardLimiter {
 public:
  ShardLimiter(const ShardLimiterOptions& options, Instant now);

  void Put(KinesisRecord record);

  struct Drained {
    std::vector<KinesisRecord> expired;
    std::vector<KinesisRecord> admitted;
  };
  /// First what is expired, then what fits.
  Drained Drain(Instant now);
  /// What leaves is on its way for so long: a question to a shared budget.
  void SetLead(nanoseconds lead) { lead_ = lead; }
  /// Everything that is not expired, whether it fits or not; the bucket is left with the debt.
  Drained DrainAll(Instant now);
  /// When the next record fits or expires; nothing where none waits. Not before `now`.
  std::optional<Instant> Wake(Instant now);

  /// Everything in the queue, uncharged.
  void TakeAll(std::vector<KinesisRecord>& out);

  /// From now on it is the limiter of this number of shards together. REQUIRES: >= 1.
  void SetShards(std::int64_t shards, Instant now);

  /// The service refused a record of this shard for its rate: slows down.
  void OnThrottled(Instant now);
  /// The part of the full rates that is used now, in percent.
  std::int64_t percent() const { return percent_; }

  bool empty() const { return queue_.empty(); }
  std::size_t size() const { return queue_.size(); }

 private:
  struct Waiting;
  using Queue = std::multimap<Instant, Waiting>;
  using Expiries = std::multimap<Instant, Queue::iterator>;
  struct Waiting {
    KinesisRecord record;
    Expiries::iterator expiry;
  };

  void BringTo(Instant now);
  void SetPercent(std::int64_t percent);
  Quota Rated(const Quota& quota) const;
  KinesisRecord Remove(Queue::iterator waiting);
  /// REQUIRES: not empty.
  Queue::iterator First(Instant now);
  void DrainExpired(Instant now, Drained& drained);
  milliseconds WaitFor(const KinesisRecord& record) const;
  void Charge(const KinesisRecord& record);

  ShardLimiterOptions options_;
  Instant origin_;
  std::int64_t millis_ = 0;  // since the origin: up to where the meters are refilled
  Meter records_;
  Meter bytes_;
  std::int64_t percent_ = 100;
  std::int64_t shards_ = 1;
  std::optional<Instant> slowed_;
  Instant recovered_;  // up to when the rate has come back
  nanoseconds lead_{0};
  Queue queue_;
  Expiries expiries_;
};

}  // namespace weir::kinesis
