// Requests for the same buckets that come at the same time are asked of a store as one.
#pragma once

#include <memory>

#include "weir/runtime/scheduler.h"
#include "weir/store/bucket_store.h"

namespace weir {

/// For a store that answers after a way over a network, and has a cost for each request. A request
/// for which none with the same targets (the same Target objects) is under way goes at once, as it
/// is. Others that come meanwhile wait for its answer, 5 ms at most, and are
/// then asked as one charge of their sum (joint_request.h). Where that is admitted, so is each;
/// where it is refused, those that can be paid are asked first, and who is refused is refused by an
/// answer of its own. So each answer is exact, as without it: docs/design/acquire.md, "Decisions
/// that share a write".
///
/// Of a joint request that fails, those that have much more time than it had are asked again, each
/// alone; their decision says maybe_charged_twice.
///
/// Only Acquire is changed. Thread-safe. `inner` and `scheduler` must outlive it and every call
/// that is under way. It may be destroyed in the last `done`.
class CoalescingBucketStore final : public BucketStore {
 public:
  CoalescingBucketStore(BucketStore& inner, Scheduler& scheduler);
  ~CoalescingBucketStore() override;

  UnixMillis Now() const override { return inner_.Now(); }
  void Acquire(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
               Done<Decision> done) override;
  void Adjust(std::span<const Charge> charges, AdjustToken token, UnixMillis now, Deadline deadline,
              Done<void> done) override;
  void Read(std::span<const BucketKey> keys, Deadline deadline,
            Done<std::vector<std::optional<BucketRecord>>> done) override;
  void ReadRecent(std::span<const BucketKey> keys, Deadline deadline,
                  Done<std::vector<std::optional<BucketRecord>>> done) override;
  void List(const BucketFilter& filter, const PageRequest& page, Deadline deadline,
            Done<Page<BucketRecord>> done) override;

 private:
  class Joins;

  BucketStore& inner_;
  Scheduler& scheduler_;
  const std::shared_ptr<Joins> joins_;
};

}  // namespace weir
