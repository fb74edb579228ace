// Limits the rate of records to one shard, and queues the records that wait for it.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "weir/bucket/bucket.h"
#include "weir/kinesis/wire/record.h"

namespace weir::kinesis {

struct ShardLimiterOptions {
  /// The limits of a shard: 1000 records and 1 MiB per second, of data and partition keys (Amazon
  /// Kinesis Data Streams developer guide, "Quotas and limits"). The capacities are the amounts
  /// that may leave at once. REQUIRES: Validate of each.
  Quota records = PerSecond(1000);
  Quota bytes = PerSecond(1024 * 1024);
  /// Percentages: a throttle lowers the rate to after_throttle % of its present value, and not
  /// below least_percent % of the full rate.
  std::int64_t after_throttle = 95;
  std::int64_t least_percent = 5;
  /// Throttles within this time after one that lowered the rate do not count: they are responses to
  /// requests that were sent before.
  nanoseconds throttle_blackout = milliseconds(250);
  /// After a throttle, a hundredth of the full rate comes back in each interval of this length.
  nanoseconds recovery = std::chrono::seconds(1);
};

/// A queue in front of one bucket with two limits, without I/O; not thread-safe. Records leave in
/// the order of their deadlines, and of their puts if these are equal; a record that does not fit
/// holds back the later ones. Records that expire after the lead pass a record that would expire
/// within it. A record larger than a capacity leaves when the bucket is full, and puts it into
/// debt. Times are rounded down to whole milliseconds since the limiter was created.
class ShardLimiter {
 public:
  ShardLimiter(const ShardLimiterOptions& options, Instant now);

  /// Adds a record to the queue. It leaves by Drain, DrainAll or TakeAll.
  void Put(KinesisRecord record);

  struct Drained {
    std::vector<KinesisRecord> expired;
    std::vector<KinesisRecord> admitted;
  };
  /// Takes the records that are expired, then the records that fit.
  Drained Drain(Instant now);
  /// Sets the lead: the time that a record still needs after it has left, for a request to a shared
  /// budget.
  void SetLead(nanoseconds lead) { lead_ = lead; }
  /// Takes all records: those that are not expired count as admitted, whether they fit or not, and
  /// are charged to the bucket, which may go into debt.
  Drained DrainAll(Instant now);
  /// Returns when the next record fits or a record expires, `now` at the earliest; nothing if no
  /// record waits.
  std::optional<Instant> NextWake(Instant now);

  /// Takes all records, expired or not, without charging them to the bucket.
  void TakeAll(std::vector<KinesisRecord>& out);

  /// Makes this the limiter of this number of shards together. REQUIRES: >= 1.
  void SetShards(std::int64_t shards, Instant now);

  /// Handles a throttle of the service for a record of this shard: lowers the rate.
  void OnThrottled(Instant now);
  /// Returns the present rate in percent of the full rate.
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

  /// Refills the bucket up to `now`, and restores the part of the rate that is due.
  void AdvanceTo(Instant now);
  /// Sets the percentage, and the rates of both limits accordingly.
  void SetPercent(std::int64_t percent);
  /// Returns the quota at the present rate and number of shards.
  Quota AtPresentRate(const Quota& quota) const;
  /// Takes a record out of both queues.
  KinesisRecord RemoveRecord(Queue::iterator waiting);
  /// Returns the next record to leave: the first in the queue, unless it expires within the lead
  /// and others do not. Then it is the first to expire of those others. REQUIRES: not empty.
  Queue::iterator NextToLeave(Instant now);
  void DrainExpired(Instant now, Drained& drained);
  /// Returns how long until the bucket holds the cost of the record, or is full.
  milliseconds WaitFor(const KinesisRecord& record) const;
  void ChargeFor(const KinesisRecord& record);

  ShardLimiterOptions options_;
  Instant origin_;
  std::int64_t millis_ = 0;  // since origin_: the time up to which the meters are refilled
  Meter records_;
  Meter bytes_;
  std::int64_t percent_ = 100;
  std::int64_t shards_ = 1;
  std::optional<Instant> slowed_;  ///< the time at which a throttle last lowered the rate
  Instant recovered_;              // the time up to which the rate has come back
  nanoseconds lead_{0};
  // By deadline.
  Queue queue_;
  // By expiry, the same records.
  Expiries expiries_;
};

}  // namespace weir::kinesis
