// Carries out what BucketProtocol asks for: requests, timers, callbacks.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/dynamo/bucket_protocol.h"
#include "weir/dynamo/bucket_store.h"
#include "weir/dynamo/known_buckets.h"
#include "weir/dynamo/round_trips.h"
#include "weir/dynamo/shard_splitter.h"
#include "weir/telemetry/repeated_event.h"

namespace weir::dynamo {

/// Thread-safe. One lock guards the protocol; requests, callbacks and timers run outside it. After
/// Stop it begins nothing more.
class DynamoBucketStore::Driver final : public KnownBuckets,
                                        public std::enable_shared_from_this<Driver> {
 public:
  Driver(Table& table, const Keys& keys, Scheduler& scheduler, const BucketStoreOptions& options);

  void Start(CallRequest request, Done<Decision> done);
  /// BucketLimits::Conform.
  void Conform(TargetPtr target, Deadline deadline, Done<void> done);
  /// Waits for the threads that are inside; not for callbacks, which may destroy the store.
  void Stop();
  void Close(Deadline deadline, Done<void> done);
  /// Blocks until every request that was sent, and all work on shards that a call asked for, has
  /// its response, or has run out of time.
  void AwaitRequests();

  void Learn(BucketImage image) override;
  void Forget(const BucketKey& key) override;
  std::uint32_t ShardsOf(const BucketKey& key) override;
  void ForgetEntity(std::string_view entity);
  std::optional<BucketImage> FindSince(const BucketKey& key, Instant since);
  std::int64_t forfeits();

 private:
  using Step = BucketProtocol::Step;

  /// False, and no event: the store is stopped; or closed, if the event `begins` a call.
  template <class Event>
  bool On(Event event, bool begins = false);
  Moment Now() const;
  void Do(Step& step);
  void Send(Step::Send send);
  void Read(std::vector<BucketKey> keys);
  void OnRead(const std::vector<BucketKey>& keys, Result<std::vector<std::optional<Item>>> items);
  void Complete(const Step::Completion& completion);
  void Answer(std::vector<Step::Answer> answers);
  void ReportIfDamaged(const Error& error);
  void SetAlarm() WEIR_REQUIRES(mutex_);
  void OnAlarm();
  void EndRequest();
  void EndAnswer();
  bool HasEnded() const WEIR_REQUIRES(mutex_);
  void EndClose(const Status& status);

  Table& table_;
  const Keys keys_;
  Scheduler& scheduler_;
  Log& log_;
  RepeatedEvent damaged_{std::chrono::seconds(10)};
  RoundTrips round_trips_;
  const std::shared_ptr<ShardSplitter> shard_work_;
  const std::function<std::uint64_t()> draw_;

  Mutex mutex_;
  std::condition_variable_any left_;
  BucketProtocol protocol_ WEIR_GUARDED_BY(mutex_);
  bool is_stopped_ WEIR_GUARDED_BY(mutex_) = false;
  int inside_ WEIR_GUARDED_BY(mutex_) = 0;
  int requests_ WEIR_GUARDED_BY(mutex_) = 0;  // that have no response yet
  bool is_closed_ WEIR_GUARDED_BY(mutex_) = false;
  int answers_ WEIR_GUARDED_BY(mutex_) = 0;  // whose callbacks have not returned yet
  std::vector<Done<void>> closing_ WEIR_GUARDED_BY(mutex_);  // of those that wait for the end
  Instant alarm_at_ WEIR_GUARDED_BY(mutex_) = kNoTime;
  TimerId alarm_ WEIR_GUARDED_BY(mutex_){};
};

}  // namespace weir::dynamo
