// BucketStore on DynamoDB: drives BucketCall.
#pragma once

#include <memory>

#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/dynamo/bucket_call.h"
#include "weir/dynamo/image_cache.h"
#include "weir/dynamo/write_turns.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/bucket_store.h"

namespace weir::dynamo {

struct BucketStoreOptions {
  std::size_t remembered_images = 100'000;
  std::uint64_t seed = 0;  ///< of pauses and tokens; must differ between processes
};

/// Contract: store/bucket_store.h. Thread-safe. `table` and `scheduler` must outlive it and every
/// call that is under way.
class DynamoBucketStore final : public BucketStore {
 public:
  DynamoBucketStore(Table& table, Keys keys, Scheduler& scheduler, BucketStoreOptions options);
  ~DynamoBucketStore() override;

  void Acquire(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
               Done<Decision> done) override;
  void Adjust(std::span<const Charge> charges, AdjustToken token, UnixMillis now, Deadline deadline,
              Done<void> done) override;
  void Read(std::span<const BucketKey> keys, Deadline deadline,
            Done<std::vector<std::optional<BucketRecord>>> done) override;
  void List(const BucketFilter& filter, const PageRequest& page, Deadline deadline,
            Done<Page<BucketRecord>> done) override;

 private:
  struct Running;
  struct Waiting;
  using RunningPtr = std::shared_ptr<Running>;

  void Start(std::span<const Charge> charges, std::optional<AdjustToken> token, UnixMillis now,
             Deadline deadline, Done<Decision> done);
  void Follow(const RunningPtr& running, CallStep step);
  void Learn(CallStep& step);
  void Send(const RunningPtr& running, CallStep::Send send);
  void WaitForTurn(const RunningPtr& running, CallStep::Send send);
  void Submit(const RunningPtr& running, CallStep::Send send);
  /// Sends what `step` asks for this charge in turn: false if it asks for nothing of the kind.
  bool KeepTurn(const RunningPtr& running, std::size_t charge, CallStep& step);
  void ReadAll(const RunningPtr& running, std::vector<TableKey> keys);
  void Pause(const RunningPtr& running, milliseconds longest);
  void Finish(const RunningPtr& running, CallStep step);
  void GiveBack(const RunningPtr& running, std::vector<Charge> charges,
                std::optional<Result<Decision>> answer);
  std::uint64_t Draw();

  Table& table_;
  const Keys keys_;
  Scheduler& scheduler_;
  ImageCache images_;
  WriteTurns turns_;
  Mutex rng_mutex_;
  Rng rng_ WEIR_GUARDED_BY(rng_mutex_);
};

}  // namespace weir::dynamo
