// The BucketStore on DynamoDB.
#pragma once

#include <functional>
#include <memory>

#include "weir/dynamodb/table.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/bucket/bucket_store.h"
#include "weir/telemetry/log.h"
#include "weir/zae_table/bucket/bucket_limits.h"
#include "weir/zae_table/bucket/bucket_plan.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

class BucketDriver;
class BucketReader;

struct BucketStoreOptions {
  /// The number of buckets that are cached. Buckets in use are cached beyond this number.
  std::size_t remembered_images = 100'000;
  /// Seeds the pauses between divisions, and, if `random` is empty, all other draws.
  std::uint64_t seed = 0;
  /// Returns random bits, also for the write fence, so a forked process must draw other bits than
  /// its parent. Called under a lock. Empty: a generator that `seed` seeds.
  std::function<std::uint64_t()> random{};
  /// The write units in a second that one item bears, in millitokens, stored in buckets that are
  /// created. A bucket is divided when its load exceeds 45 % of that.
  std::int64_t write_capacity = kWriteCapacity;
  /// The greatest age of a cached image that a refusal, or the result of a request for 0 tokens,
  /// may rely on. If the image is older, the item is read. At most kLongestRefusalAge.
  milliseconds refusal_age{1000};
  /// The least time between two writes that store the limits of refused requests in one bucket.
  milliseconds repair_rest{1000};
  /// For simulations: gets each fenced write when it is planned, and the value that the write
  /// stores in its slot. Called under a lock.
  std::function<void(const FenceValue&, const BucketRequest&)> observe_plan{};
  /// Must outlive the store. Null: no events. Gets "bucket.damaged" (warning: message, suppressed;
  /// at most one in 10 s), the events of ShardSplitter and those of AheadReport.
  Log* log = nullptr;
};

inline constexpr milliseconds kLongestRefusalAge{5000};

/// Contract: weir/store/bucket/bucket_store.h. Charges and Read name shard 0 and mean the whole
/// bucket, however many shards it has; List returns each shard by itself. A bucket whose item
/// receives nearly half of the writes that one item bears, or whose writes are throttled because of
/// the load on its key range, is divided in two in the background.
///
/// If a call ends at its deadline while a write with its takes is in flight, tokens that this write
/// takes are returned later, within about ten seconds: see Close. Callbacks do not nest: a call
/// that a callback makes completes after the callback has returned. Thread-safe. `table` and
/// `scheduler` must outlive the store and every call and request in flight.
class DynamoBucketStore final : public BucketStore, public BucketLimits {
 public:
  DynamoBucketStore(Table& table, Keys keys, Scheduler& scheduler,
                    const BucketStoreOptions& options);
  ~DynamoBucketStore() override;

  UnixMillis Now() const override { return table_.Now(); }
  /// Drops the cached images of the entity's buckets. To be called when the entity was deleted.
  void Forget(std::string_view entity);
  /// Calls that begin after this fail with kUnavailable. Runs `done` when no call is pending and no
  /// write is in doubt, or with kDeadlineExceeded at the deadline. Each Close has its own deadline.
  void Close(Deadline deadline, Done<void> done);
  /// Blocks until every request that Acquire, Adjust and Conform have sent has its response or has
  /// timed out (5 s); their calls may have completed before. Does not wait for Read, ReadRecent,
  /// List, and divisions in the background. Must be called before `table` and `scheduler` are
  /// destroyed, unless these never complete a request. Must not be called from a task of the
  /// scheduler.
  void AwaitRequests();
  /// Returns the number of takes, returns and corrections of which it will never be known whether
  /// they were written.
  std::int64_t forfeits() const;

  void Acquire(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
               Done<Decision> done) override;
  void AcquireAndKeep(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
                      Done<Decision> done) override;
  /// With AdjustTerms::is_shared, records the id of the adjust in the table for kAdjustRecordLife,
  /// in the transaction that adjusts the bucket.
  void Adjust(std::span<const Charge> charges, const AdjustTerms& terms, UnixMillis now,
              Deadline deadline, Done<void> done) override;
  /// Relies only on images that are read after the call began.
  void Conform(TargetPtr target, Deadline deadline, Done<void> done) override;
  void Read(std::span<const BucketKey> keys, Deadline deadline,
            Done<std::vector<std::optional<BucketRecord>>> done) override;
  /// Returns cached images if none is older than `refusal_age`. Otherwise reads, and shares the
  /// read with other calls for the same buckets.
  void ReadRecent(std::span<const BucketKey> keys, Deadline deadline,
                  Done<std::vector<std::optional<BucketRecord>>> done) override;
  void List(const BucketFilter& filter, const PageRequest& page, Deadline deadline,
            Done<Page<BucketRecord>> done) override;

 private:
  Table& table_;
  const Keys keys_;
  /// Shared with requests in flight and timers, which may outlive the store.
  const std::shared_ptr<BucketDriver> driver_;
  const std::shared_ptr<BucketReader> reader_;
};

}  // namespace weir::dynamo
