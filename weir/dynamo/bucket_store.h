// BucketStore on DynamoDB: drives BucketProtocol.
#pragma once

#include <functional>
#include <memory>

#include "weir/dynamo/bucket_limits.h"
#include "weir/dynamo/bucket_plan.h"
#include "weir/dynamo/keys.h"
#include "weir/dynamo/shared_reads.h"
#include "weir/dynamo/table.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/bucket_store.h"
#include "weir/telemetry/log.h"

namespace weir::dynamo {

struct CallRequest;

struct BucketStoreOptions {
  std::size_t remembered_images = 100'000;
  std::uint64_t seed = 0;  ///< of pauses and shards, if there is no `random`
  /// Random bits for the write fence too, so they must differ after a fork. Called under a lock.
  std::function<std::uint64_t()> random{};
  /// Units of writes in a second that one item bears, in millitokens: a new bucket is divided from
  /// 45 % of that on. DynamoDB's is the default.
  std::int64_t write_capacity = kWriteCapacity;
  /// A refusal, or a look, is answered from the cached image up to this age; then the item is read.
  /// At most kLongestRefusalAge.
  milliseconds refusal_age{1000};
  /// The least time between two writes by which refused requests store the limits of one bucket.
  milliseconds repair_rest{1000};
  /// For simulations: gets each fenced write when it is planned, with the value that it stores in
  /// its slot. Called under a lock.
  std::function<void(const FenceValue&, const BucketRequest&)> observe_plan{};
  /// Must outlive the store. Gets "bucket.damaged" (warning: message, suppressed; one in 10 s) and
  /// the events of ShardSplitter.
  Log* log = nullptr;
};

inline constexpr milliseconds kLongestRefusalAge{5000};

/// Contract: store/bucket_store.h. A charge names shard 0 and means the bucket, into however many
/// shards it is divided, and so does Read (ReadBuckets); List returns each shard by itself. A
/// bucket whose item is written nearly half as much as one item bears, or whose writes are
/// throttled for the load on its key range, is divided in two, in the background.
///
/// Tokens that were taken for a call that was answered at its deadline return after it, for up to
/// ten seconds: see Close. Callbacks do not nest: a call that is made by a callback is answered
/// after it has returned. Thread-safe. `table` and `scheduler` must outlive it and every call and
/// request in flight.
class DynamoBucketStore final : public BucketStore, public BucketLimits {
 public:
  DynamoBucketStore(Table& table, Keys keys, Scheduler& scheduler,
                    const BucketStoreOptions& options);
  ~DynamoBucketStore() override;

  UnixMillis Now() const override { return table_.Now(); }
  /// What is remembered of the entity's buckets no longer holds: it was deleted.
  void Forget(std::string_view entity);
  /// From now on calls are answered kUnavailable. `done` when nothing is pending and no outcome is
  /// in doubt, at the deadline at the latest (kDeadlineExceeded).
  void Close(Deadline deadline, Done<void> done);
  /// Blocks until every request that was sent has its response, or has run out of time (5 s):
  /// callers may have been answered before. To be called before what the store refers to is
  /// destroyed, unless that never answers. Not from a task of the scheduler.
  void AwaitRequests();
  /// Returns and corrections that may be lost: it will never be known whether they were written.
  std::int64_t forfeits() const;

  void Acquire(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
               Done<Decision> done) override;
  void AcquireAndKeep(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
                      Done<Decision> done) override;
  void Adjust(std::span<const Charge> charges, AdjustId token, UnixMillis now, Deadline deadline,
              Done<void> done) override;
  /// The token is recorded in the table, in the transaction that adjusts the bucket, for
  /// kTokenRecordLife.
  void AdjustShared(std::span<const Charge> charges, AdjustId token, UnixMillis now,
                    Deadline deadline, Done<void> done) override;
  /// By images that are read after the call.
  void Conform(TargetPtr target, Deadline deadline, Done<void> done) override;
  void Read(std::span<const BucketKey> keys, Deadline deadline,
            Done<std::vector<std::optional<BucketRecord>>> done) override;
  /// From cached images up to `refusal_age` old; else as Read.
  void ReadRecent(std::span<const BucketKey> keys, Deadline deadline,
                  Done<std::vector<std::optional<BucketRecord>>> done) override;
  void List(const BucketFilter& filter, const PageRequest& page, Deadline deadline,
            Done<Page<BucketRecord>> done) override;

 private:
  class Driver;

  void StartAdjust(CallRequest request, Done<void> done);
  std::optional<BucketRecord> FindRecent(const BucketKey& key);
  std::optional<SharedReads::Records> FindRecent(std::span<const BucketKey> keys);

  Table& table_;
  const Keys keys_;
  Scheduler& scheduler_;
  const milliseconds refusal_age_;
  /// Shared with requests and timers, which may end after the store.
  const std::shared_ptr<Driver> driver_;
  SharedReads reads_;
};

}  // namespace weir::dynamo
