// A bucket store whose acquires complete when a test lets them.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/store/bucket/bucket_store.h"

namespace weir {

/// Holds acquires until Release or Decide, and passes other calls to `inner`. Thread-safe. `inner`
/// must outlive it.
class GatedStore final : public BucketStore {
 public:
  struct Asked {
    std::vector<Charge> charges;
    UnixMillis now;
    Deadline deadline;
  };

  explicit GatedStore(BucketStore& inner) : inner_(inner) {}

  UnixMillis Now() const override { return inner_.Now(); }
  void Acquire(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
               Done<Decision> done) override {
    Call call{{{charges.begin(), charges.end()}, now, deadline}, std::move(done)};
    {
      const MutexLock lock(mutex_);
      asked_.push_back(call.asked);
      if (is_closed_) return held_.push_back(std::move(call));
    }
    Run(call);
  }
  void Adjust(std::span<const Charge> charges, const AdjustTerms& terms, UnixMillis now,
              Deadline deadline, Done<void> done) override {
    inner_.Adjust(charges, terms, now, deadline, std::move(done));
  }
  void Read(std::span<const BucketKey> keys, Deadline deadline,
            Done<std::vector<std::optional<BucketRecord>>> done) override {
    inner_.Read(keys, deadline, std::move(done));
  }
  void List(const BucketFilter& filter, const PageRequest& page, Deadline deadline,
            Done<Page<BucketRecord>> done) override {
    inner_.List(filter, page, deadline, std::move(done));
  }

  /// Stops holding new acquires.
  void Open() {
    const MutexLock lock(mutex_);
    is_closed_ = false;
  }
  /// Passes the oldest held acquire to `inner`, or completes it with `error`. Returns false if
  /// there is none.
  bool Release(std::optional<Error> error = std::nullopt) {
    std::optional<Call> call = TakeOldest();
    if (!call) return false;
    if (error) {
      call->done(Fail(*std::move(error)));
    } else {
      Run(*call);
    }
    return true;
  }
  /// Completes the oldest held acquire with `decision`. Returns false if there is none.
  bool Decide(Decision decision) {
    std::optional<Call> call = TakeOldest();
    if (call) call->done(std::move(decision));
    return call.has_value();
  }
  /// Returns all acquires so far, in order.
  std::vector<Asked> asked() {
    const MutexLock lock(mutex_);
    return asked_;
  }

 private:
  struct Call {
    Asked asked;
    Done<Decision> done;
  };
  std::optional<Call> TakeOldest() {
    const MutexLock lock(mutex_);
    if (held_.empty()) return std::nullopt;
    std::optional<Call> call = std::move(held_.front());
    held_.pop_front();
    return call;
  }
  void Run(Call& call) {
    inner_.Acquire(call.asked.charges, call.asked.now, call.asked.deadline, std::move(call.done));
  }

  BucketStore& inner_;
  Mutex mutex_;
  bool is_closed_ WEIR_GUARDED_BY(mutex_) = true;
  std::deque<Call> held_ WEIR_GUARDED_BY(mutex_);
  std::vector<Asked> asked_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
