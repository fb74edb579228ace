// Divides buckets, and makes their missing shards: drives PlanShards.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <condition_variable>
#include <memory>

#include "weir/base/done.h"
#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/dynamo/known_buckets.h"
#include "weir/dynamo/shard_plan.h"
#include "weir/runtime/scheduler.h"
#include "weir/telemetry/log.h"

namespace weir::dynamo {

/// Thread-safe. What it refers to must live until Stop has returned; answers that come later find
/// nothing to do.
class ShardSplitter : public std::enable_shared_from_this<ShardSplitter> {
 public:
  struct Parts {
    Table& table;
    const Keys& keys;
    Scheduler& scheduler;
    KnownBuckets& images;
    /// Gets "bucket.divided" (info: entity, resource, shards) and "bucket.division_failed"
    /// (warning: entity, resource, message), both of doublings; they are at least 200 ms apart for
    /// each bucket.
    Log& log;
  };
  ShardSplitter(const Parts& parts, std::uint64_t seed);

  /// In the background: twice as many shards for the bucket of this image. One attempt at a time
  /// for each bucket. One that fails leaves all as it was, and there is none for a while.
  void Double(const BucketImage& seen);
  /// Makes the shards that are missing, and tells the others how many they are. `done`: whether
  /// the bucket is there at all; where others did it meanwhile, that is as good. After Stop it is
  /// dropped.
  void Complete(const BucketKey& bucket, UnixMillis now, Deadline deadline, Done<bool> done);
  /// Waits for threads that are inside. Jobs in flight end without a result.
  void Stop();

 private:
  struct Job;
  using JobPtr = std::shared_ptr<Job>;
  class Visit;

  JobPtr NewJob(BucketKey bucket, std::uint32_t shards, UnixMillis now, Deadline deadline);
  void Read(const JobPtr& job);
  void OnRead(const JobPtr& job);
  void Change(const JobPtr& job, std::uint32_t shards);
  void Learn(const ShardsSeen& seen);
  bool MayBegin(const BucketKey& bucket);
  void End(const JobPtr& job, Result<bool> is_there);
  void Report(const Job& job, const Result<bool>& is_there);
  std::uint64_t Draw();

  Table& table_;
  const Keys& keys_;
  Scheduler& scheduler_;
  KnownBuckets& images_;
  Log& log_;
  Mutex mutex_;
  std::condition_variable_any left_;
  Rng rng_ WEIR_GUARDED_BY(mutex_);
  bool stopped_ WEIR_GUARDED_BY(mutex_) = false;
  int visits_ WEIR_GUARDED_BY(mutex_) = 0;
  /// Buckets of which there is no doubling until then.
  absl::flat_hash_map<BucketKey, Instant, BucketKeyHash> not_before_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::dynamo
