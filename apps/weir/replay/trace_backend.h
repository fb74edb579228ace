// A backend whose buckets use the time of a trace.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weir/store/backend.h"

namespace weir::app {

/// The backend of a limiter while a trace is replayed: `inner`, at the time of `time`. Both must
/// outlive it. It is as thread-safe as they are.
class TraceBackend final : public Backend {
 public:
  TraceBackend(Backend& inner, const Clock& time)
      : inner_(inner), buckets_(inner.buckets(), time) {}

  BucketStore& buckets() override { return buckets_; }
  ConfigStore& config() override { return inner_.config(); }
  Status Close() override { return inner_.Close(); }
  std::string Describe() const override { return inner_.Describe(); }

 private:
  class Buckets final : public BucketStore {
   public:
    Buckets(BucketStore& inner, const Clock& time) : inner_(inner), time_(time) {}

    UnixMillis Now() const override { return time_.WallNow(); }
    void Acquire(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
                 Done<Decision> done) override {
      inner_.Acquire(charges, now, deadline, std::move(done));
    }
    void Adjust(std::span<const Charge> charges, const AdjustTerms& terms, UnixMillis now,
                Deadline deadline, Done<void> done) override {
      inner_.Adjust(charges, terms, now, deadline, std::move(done));
    }
    void Read(std::span<const BucketKey> keys, Deadline deadline,
              Done<std::vector<std::optional<BucketRecord>>> done) override {
      inner_.Read(keys, deadline, std::move(done));
    }
    void ReadRecent(std::span<const BucketKey> keys, Deadline deadline,
                    Done<std::vector<std::optional<BucketRecord>>> done) override {
      inner_.ReadRecent(keys, deadline, std::move(done));
    }
    void List(const BucketFilter& filter, const PageRequest& page, Deadline deadline,
              Done<Page<BucketRecord>> done) override {
      inner_.List(filter, page, deadline, std::move(done));
    }

   private:
    BucketStore& inner_;
    const Clock& time_;
  };

  Backend& inner_;
  Buckets buckets_;
};

}  // namespace weir::app
