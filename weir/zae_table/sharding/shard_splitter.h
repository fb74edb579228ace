// Divides buckets, and creates their missing shards: carries out the plans of PlanShards.
//
//   Double, Complete --> Read --> OnRead --> Change --> Read --> OnRead --> End
//                         ^          |
//                         +----------+
//                the items show more shards
#pragma once

#include <absl/container/flat_hash_map.h>

#include <condition_variable>
#include <memory>

#include "weir/base/done.h"
#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/runtime/scheduler.h"
#include "weir/telemetry/log.h"
#include "weir/zae_table/bucket/bucket_image_cache.h"
#include "weir/zae_table/sharding/shard_plan.h"

namespace weir::dynamo {

/// Thread-safe. The objects that `Parts` refers to must live until Stop has returned; responses
/// that come later have no effect.
class ShardSplitter : public std::enable_shared_from_this<ShardSplitter> {
 public:
  struct Parts {
    Table& table;
    const Keys& keys;
    Scheduler& scheduler;
    BucketImageCache& images;
    /// Receives "bucket.divided" (info: entity, resource, shards) and "bucket.division_failed"
    /// (warning: entity, resource, message), both only of doublings. The events of one bucket are
    /// at least 200 ms apart. A doubling that fails because of writes on the bucket's shards is not
    /// reported: it is repeated.
    Log& log;
  };
  ShardSplitter(const Parts& parts, std::uint64_t seed);

  /// Doubles the shards of this image's bucket in the background. There is one attempt at a time
  /// for each bucket, and no other attempt for 0.2 to 1 s after it. An attempt that fails changes
  /// nothing. `done`, if not null, is called like `done` of Complete, or dropped if no attempt
  /// begins.
  void Double(const BucketImage& seen, Done<std::uint32_t> done = nullptr);
  /// Creates the missing shards, and stores the number of shards in the others. Reports the number
  /// of shards of the bucket, 0 if it does not exist; it is not an error if other processes created
  /// the shards meanwhile. After Stop, `done` is dropped without a call.
  void Complete(const BucketKey& bucket, UnixMillis now, Deadline deadline,
                Done<std::uint32_t> done);
  /// Waits for threads that run jobs. Jobs in flight end without a result.
  void Stop();

 private:
  struct Job;
  using JobPtr = std::shared_ptr<Job>;
  class RunGuard;

  JobPtr NewJob(BucketKey bucket, std::uint32_t shards, UnixMillis now, Deadline deadline);
  // Reads the owner, and all shards but those that the job has created. Before a doubling, also the
  // items that the new shards would replace.
  void Read(const JobPtr& job);
  // Decides by the items: ends the job, reads more shards, or changes the bucket.
  void OnRead(const JobPtr& job);
  // Sends the transaction after which the bucket has `shards` shards.
  void Change(const JobPtr& job, std::uint32_t shards);
  // Replaces the process's images by the items of the shards.
  void Learn(const ShardsSeen& seen);
  // Returns true if a doubling of the bucket may begin, and reserves it.
  bool ReserveDoubling(const BucketKey& bucket);
  // Reports the number of shards. Logs a doubling, and lets the bucket rest.
  void End(const JobPtr& job, Result<std::uint32_t> shards);
  void Report(const Job& job, const Result<std::uint32_t>& shards);
  std::uint64_t Draw();

  Table& table_;
  const Keys& keys_;
  Scheduler& scheduler_;
  BucketImageCache& images_;
  Log& log_;
  Mutex mutex_;
  std::condition_variable_any visit_ended_;
  Rng rng_ WEIR_GUARDED_BY(mutex_);
  bool stopped_ WEIR_GUARDED_BY(mutex_) = false;
  int visits_ WEIR_GUARDED_BY(mutex_) = 0;
  /// When the next doubling of a bucket may begin; kNever while one is in flight.
  absl::flat_hash_map<BucketKey, Instant, BucketKeyHash> not_before_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::dynamo
