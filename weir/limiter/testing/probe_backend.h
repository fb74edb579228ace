// Test support for this module: wraps a backend, records its calls, and can delay, fail or replace
// their results.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/store/backend.h"

namespace weir {

/// Returns the results of `inner`, unless a test changes them. Not thread-safe.
class ProbeBackend final : public Backend {
 public:
  explicit ProbeBackend(Backend& inner) : inner_(inner), buckets_(*this), config_(*this) {}

  BucketStore& buckets() override { return buckets_; }
  ConfigStore& config() override { return config_; }
  AuditLog& audit() override { return inner_.audit(); }
  Status Close() override { return inner_.Close(); }
  std::string Describe() const override { return "probe"; }

  bool hold = false;               ///< all results are held until Release
  bool hold_adjusts = false;       ///< the results of adjusts are held until Release
  std::optional<Error> fail;       ///< returned without a call of `inner`
  std::optional<Error> lose;       ///< calls `inner`, but returns this error
  std::optional<Decision> decide;  ///< returned by acquires without a call of `inner`
  /// Decides acquires without a call of `inner`; if it returns nullopt, `inner` is called.
  std::function<std::optional<Decision>(std::span<const Charge>)> judge;
  std::vector<std::uint32_t> shards;  ///< Decision::shards of admitted requests
  void Release() {
    for (auto& result : std::exchange(held_, {})) result();
  }
  std::size_t held() const { return held_.size(); }
  /// Destroys the callbacks whose results are held, as a store that breaks its contract does.
  void Drop() { std::exchange(held_, {}); }

  struct Asked {
    UnixMillis now;
    Deadline deadline = Deadline::Never();
    std::vector<Charge> charges;
    std::size_t order = 0;  ///< among acquires and adjusts
    bool admitted = false;
  };
  std::vector<Asked> acquires;  ///< acquires that reached `inner`
  std::size_t keeps = 0;        ///< number of AcquireAndKeep calls
  struct Adjusted {
    AdjustTerms terms;
    UnixMillis now;
    Deadline deadline = Deadline::Never();
    std::vector<Charge> charges;
    std::size_t order = 0;
  };
  std::vector<Adjusted> adjusts;  ///< all adjusts
  std::size_t bucket_reads = 0;   ///< including recent_reads
  std::size_t recent_reads = 0;
  std::vector<std::vector<std::string>> entity_reads;
  std::vector<std::vector<Level>> limit_reads;
  std::size_t config_reads() const { return entity_reads.size() + limit_reads.size(); }

 private:
  template <class T, class Run>
  void Call(Done<T> done, Run run) {
    if (hold) {
      done = [this, done = std::move(done)](Result<T> result) mutable {
        held_.push_back([result = std::move(result), done = std::move(done)]() mutable {
          done(std::move(result));
        });
      };
    }
    if (fail) return done(Fail(*fail));
    if (lose) {
      done = [error = *lose, done = std::move(done)](Result<T>) mutable { done(Fail(error)); };
    }
    run(std::move(done));
  }

  class Buckets final : public BucketStore {
   public:
    explicit Buckets(ProbeBackend& probe) : probe_(probe) {}
    UnixMillis Now() const override { return probe_.inner_.buckets().Now(); }
    void Acquire(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
                 Done<Decision> done) override {
      probe_.Call<Decision>(std::move(done), [&](Done<Decision> next) {
        if (probe_.decide) return next(Decision(*probe_.decide));
        if (probe_.judge) {
          if (auto decision = probe_.judge(charges)) return next(*std::move(decision));
        }
        const std::size_t index = probe_.acquires.size();
        probe_.acquires.push_back(
            {now, deadline, {charges.begin(), charges.end()}, probe_.order_++, false});
        store().Acquire(charges, now, deadline,
                        [this, index, next = std::move(next)](Result<Decision> result) mutable {
                          probe_.acquires[index].admitted = result && result->admitted;
                          if (result && result->admitted) result->shards = probe_.shards;
                          next(std::move(result));
                        });
      });
    }
    void AcquireAndKeep(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
                        Done<Decision> done) override {
      ++probe_.keeps;
      Acquire(charges, now, deadline, std::move(done));
    }
    void Adjust(std::span<const Charge> charges, const AdjustTerms& terms, UnixMillis now,
                Deadline deadline, Done<void> done) override {
      probe_.adjusts.push_back(
          {terms, now, deadline, {charges.begin(), charges.end()}, probe_.order_++});
      const bool holds_all = std::exchange(probe_.hold, probe_.hold || probe_.hold_adjusts);
      probe_.Call<void>(std::move(done), [&](Done<void> next) {
        store().Adjust(charges, terms, now, deadline, std::move(next));
      });
      probe_.hold = holds_all;
    }
    void Read(std::span<const BucketKey> keys, Deadline deadline,
              Done<std::vector<std::optional<BucketRecord>>> done) override {
      ++probe_.bucket_reads;
      probe_.Call<std::vector<std::optional<BucketRecord>>>(
          std::move(done), [&](auto next) { store().Read(keys, deadline, std::move(next)); });
    }
    void ReadRecent(std::span<const BucketKey> keys, Deadline deadline,
                    Done<std::vector<std::optional<BucketRecord>>> done) override {
      ++probe_.recent_reads;
      Read(keys, deadline, std::move(done));
    }
    void List(const BucketFilter& filter, const PageRequest& page, Deadline deadline,
              Done<Page<BucketRecord>> done) override {
      store().List(filter, page, deadline, std::move(done));
    }

   private:
    BucketStore& store() { return probe_.inner_.buckets(); }
    ProbeBackend& probe_;
  };

  class Config final : public ConfigStore {
   public:
    explicit Config(ProbeBackend& probe) : probe_(probe) {}
    void GetLimits(std::span<const Level> levels, Deadline deadline,
                   Done<std::vector<std::optional<LevelLimits>>> done) override {
      probe_.limit_reads.emplace_back(levels.begin(), levels.end());
      probe_.Call<std::vector<std::optional<LevelLimits>>>(std::move(done), [&](auto next) {
        store().GetLimits(levels, deadline, std::move(next));
      });
    }
    void ListLimits(const LevelFilter& filter, const PageRequest& page, Deadline deadline,
                    Done<Page<LevelRecord>> done) override {
      store().ListLimits(filter, page, deadline, std::move(done));
    }
    void GetEntities(std::span<const std::string> ids, Deadline deadline,
                     Done<std::vector<std::optional<EntityRecord>>> done) override {
      probe_.entity_reads.emplace_back(ids.begin(), ids.end());
      probe_.Call<std::vector<std::optional<EntityRecord>>>(
          std::move(done), [&](auto next) { store().GetEntities(ids, deadline, std::move(next)); });
    }
    void ListEntities(const std::optional<std::string>& parent, const PageRequest& page,
                      Deadline deadline, Done<Page<EntityRecord>> done) override {
      store().ListEntities(parent, page, deadline, std::move(done));
    }
    void Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done) override {
      probe_.Call<void>(std::move(done), [&](Done<void> next) {
        store().Apply(std::move(changes), deadline, std::move(next));
      });
    }

   private:
    ConfigStore& store() { return probe_.inner_.config(); }
    ProbeBackend& probe_;
  };

  Backend& inner_;
  Buckets buckets_;
  Config config_;
  std::vector<std::move_only_function<void()>> held_;
  std::size_t order_ = 0;
};

inline std::vector<Limit> RpmLimits(std::int64_t capacity) {
  return {{"rpm", PerMinute(capacity)}};
}

inline ConfigChange Put(Level level, std::vector<Limit> limits,
                        std::optional<OnUnavailable> on_unavailable = std::nullopt) {
  return PutLimits{std::move(level), {std::move(limits), on_unavailable}};
}

/// Returns a change that puts an entity with a parent, which its requests charge if `cascade`.
inline ConfigChange PutChild(std::string id, std::string parent, bool cascade = true) {
  EntityRecord record;
  record.entity.id = std::move(id);
  record.entity.parent = std::move(parent);
  record.entity.cascade = cascade;
  return PutEntity{std::move(record)};
}

}  // namespace weir
