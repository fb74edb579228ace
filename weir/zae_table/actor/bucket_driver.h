// Runs a BucketProtocol: sends its requests, sets its timer, runs its callbacks.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/telemetry/repeated_event.h"
#include "weir/zae_table/actor/bucket_protocol.h"
#include "weir/zae_table/actor/pending_closes.h"
#include "weir/zae_table/actor/round_trips.h"
#include "weir/zae_table/bucket/bucket_image_cache.h"
#include "weir/zae_table/bucket/bucket_store.h"
#include "weir/zae_table/sharding/shard_splitter.h"

namespace weir::dynamo {

/// One lock guards the protocol. Requests are sent, and callbacks run, outside of the lock:
///
///   event --> Process: lock { protocol: event --> Step; SetAlarm } --> CarryOut --> callbacks
///                ^                                                     |
///                +-- responses, the alarm, created shards -------------+
///
/// Requests and timers share the ownership of the driver, or hold a weak pointer, so that the store
/// may be destroyed before they end. After Stop no event is processed. Thread-safe.
class BucketDriver final : public BucketImageCache,
                           public std::enable_shared_from_this<BucketDriver> {
 public:
  BucketDriver(Table& table, const Keys& keys, Scheduler& scheduler,
               const BucketStoreOptions& options);

  /// Starts a call. kUnavailable after Close or Stop.
  void Start(CallRequest request, Done<Decision> done);
  /// See BucketLimits::Conform.
  void Conform(TargetPtr target, Deadline deadline, Done<void> done);
  /// Blocks until no thread processes an event. Does not wait for callbacks, because one of them
  /// may be destroying the store.
  void Stop();
  /// See DynamoBucketStore::Close.
  void Close(Deadline deadline, Done<void> done);
  /// Blocks until all requests of the protocol, and all creations of shards for its calls, have
  /// their responses or have timed out (5 s). Divisions in the background are not included.
  void AwaitRequests();

  void Learn(BucketImage image) override;
  void Forget(const BucketKey& key) override;
  std::uint32_t ShardsOf(const BucketKey& key) override;
  std::optional<BucketImage> FindSince(const BucketKey& key, Instant since) override;
  void ForgetEntity(std::string_view entity);
  std::int64_t forfeits();

 private:
  using Step = BucketProtocol::Step;

  /// Runs `event(protocol, moment, step)` under the lock, then carries out the step. After Stop, or
  /// after Close if the event `begins` a call, it does not run the event and returns false.
  template <class Event>
  bool Process(Event event, bool begins = false);
  ProtocolTime Now() const;
  class StepQueue;
  /// Carries out the step, then runs its callbacks.
  void Finish(Step& step, bool may_close);
  /// Carries out the step, except Step::completions.
  void CarryOut(Step& step);
  void Send(Step::Send send);
  void Read(std::vector<BucketKey> keys);
  void OnRead(const std::vector<BucketKey>& keys, Result<std::vector<std::optional<Item>>> items);
  /// Creates the missing shards of a bucket.
  void CreateShards(const Step::ShardRequest& request);
  /// Runs the callbacks of calls that have ended.
  void RunCallbacks(std::vector<Step::Completion> completions);
  void ReportIfDamaged(const Error& error);
  /// Sets the timer for the protocol's wake().
  void SetAlarm() WEIR_REQUIRES(mutex_);
  void OnAlarm();
  /// A request has its response, and its event was processed.
  void EndRequest();
  /// A callback has returned.
  void OnCallbackReturned();
  /// Returns true if a caller of Close waits, and nothing is left to wait for.
  bool MayClose() const WEIR_REQUIRES(mutex_);
  /// Completes all calls of Close: nothing is left to wait for.
  void EndCloses();
  /// The deadline of one call of Close has passed.
  void OnCloseDeadline(PendingCloses::Id id);

  Table& table_;
  const Keys keys_;
  Scheduler& scheduler_;
  Log& log_;
  RepeatedEvent damaged_{std::chrono::seconds(10)};
  RoundTrips round_trips_;
  const std::shared_ptr<ShardSplitter> shard_work_;
  const std::function<std::uint64_t()> draw_;

  Mutex mutex_;
  std::condition_variable_any changed_;  // notified when inside_ or requests_ decreases
  BucketProtocol protocol_ WEIR_GUARDED_BY(mutex_);
  bool is_stopped_ WEIR_GUARDED_BY(mutex_) = false;
  int inside_ WEIR_GUARDED_BY(mutex_) = 0;    // threads in Process
  int requests_ WEIR_GUARDED_BY(mutex_) = 0;  // in flight
  bool is_closed_ WEIR_GUARDED_BY(mutex_) = false;
  int running_callbacks_ WEIR_GUARDED_BY(mutex_) = 0;  // callbacks that have not returned yet
  PendingCloses closes_ WEIR_GUARDED_BY(mutex_);
  Instant alarm_at_ WEIR_GUARDED_BY(mutex_) = kNoTime;
  TimerId alarm_ WEIR_GUARDED_BY(mutex_){};
};

}  // namespace weir::dynamo
