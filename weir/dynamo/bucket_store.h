// BucketStore on DynamoDB: drives BucketCall.
#pragma once

#include <memory>

#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/dynamo/bucket_call.h"
#include "weir/dynamo/image_cache.h"
#include "weir/dynamo/shard_route.h"
#include "weir/dynamo/shard_work.h"
#include "weir/dynamo/shared_reads.h"
#include "weir/dynamo/write_turns.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/bucket_store.h"
#include "weir/telemetry/log.h"
#include "weir/telemetry/repeated_event.h"

namespace weir::dynamo {

struct BucketStoreOptions {
  std::size_t remembered_images = 100'000;
  std::uint64_t seed = 0;  ///< of pauses, tokens and shards; must differ between processes
  /// Units of writes in a second that one item bears, in millitokens: a new bucket is divided from
  /// 45 % of that on. DynamoDB's is the default.
  std::int64_t write_capacity = kWriteCapacity;
  /// A refusal, or a look, is answered from the cached image up to this age; then the item is read.
  /// At most kLongestRefusalAge.
  milliseconds refusal_age{1000};
  /// The least time between two writes by which refused requests store the limits of one bucket
  /// (PlanRepair).
  milliseconds repair_rest{1000};
  /// Must outlive the store. Gets "bucket.damaged" (warning: message, suppressed; one in 10 s) and
  /// the events of ShardWork.
  Log* log = nullptr;
};

inline constexpr milliseconds kLongestRefusalAge{5000};

/// Contract: store/bucket_store.h. A charge names shard 0 and means the bucket, into however many
/// shards it is divided, and so does Read (ReadBuckets); List returns each shard by itself. A
/// bucket whose item is written nearly half as much as one item bears, or whose writes are
/// throttled for the load on its key range, is divided in two, in the background.
/// Thread-safe. `table` and `scheduler` must outlive it and every call in flight.
class DynamoBucketStore final : public BucketStore {
 public:
  DynamoBucketStore(Table& table, Keys keys, Scheduler& scheduler, BucketStoreOptions options);
  ~DynamoBucketStore() override;

  UnixMillis Now() const override { return table_.Now(); }
  /// What is remembered of the entity's buckets no longer holds: it was deleted.
  void Forget(std::string_view entity) { images_.ForgetEntity(entity); }

  void Acquire(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
               Done<Decision> done) override;
  void Adjust(std::span<const Charge> charges, AdjustToken token, UnixMillis now, Deadline deadline,
              Done<void> done) override;
  void Read(std::span<const BucketKey> keys, Deadline deadline,
            Done<std::vector<std::optional<BucketRecord>>> done) override;
  /// From cached images up to `refusal_age` old; else as Read.
  void ReadRecent(std::span<const BucketKey> keys, Deadline deadline,
                  Done<std::vector<std::optional<BucketRecord>>> done) override;
  void List(const BucketFilter& filter, const PageRequest& page, Deadline deadline,
            Done<Page<BucketRecord>> done) override;

 private:
  struct Request;
  struct Running;
  struct Waiting;
  using RequestPtr = std::shared_ptr<Request>;
  using RunningPtr = std::shared_ptr<Running>;

  std::optional<BucketRecord> FindRecent(const BucketKey& key);
  std::optional<SharedReads::Records> FindRecent(std::span<const BucketKey> keys);
  Route RouteOf(const Request& request);
  CallTerms TermsOf(const Request& request, const Route& route) const;
  void Start(const RequestPtr& request, Route route);
  void Answered(const RunningPtr& running, CallStep step);
  void Refused(const RunningPtr& running, Decision refusal);
  void RouteAgain(const RequestPtr& request, std::vector<BucketKey> incomplete);
  void Follow(const RunningPtr& running, CallStep step);
  void Learn(CallStep& step);
  void Send(const RunningPtr& running, CallStep::Send send);
  void WaitForTurn(const RunningPtr& running, CallStep::Send send);
  void Submit(const RunningPtr& running, CallStep::Send send);
  /// Sends what `step` asks for this charge in turn: false if it asks for nothing of the kind.
  bool KeepTurn(const RunningPtr& running, std::size_t charge, CallStep& step);
  void ReadAll(const RunningPtr& running, std::vector<TableKey> keys);
  void Pause(const RunningPtr& running, milliseconds longest);
  void ReportIfDamaged(const Error& error);
  void Finish(const RunningPtr& running, CallStep step);
  void GiveBack(const RunningPtr& running, CallStep step);
  std::uint64_t Draw();

  Table& table_;
  const Keys keys_;
  Scheduler& scheduler_;
  const Quota writes_;
  const milliseconds refusal_age_;
  const milliseconds repair_rest_;
  ImageCache images_;
  Log& log_;
  RepeatedEvent damaged_{std::chrono::seconds(10)};
  const std::shared_ptr<ShardWork> shard_work_;
  WriteTurns turns_;
  SharedReads reads_;
  Mutex rng_mutex_;
  Rng rng_ WEIR_GUARDED_BY(rng_mutex_);
};

}  // namespace weir::dynamo
