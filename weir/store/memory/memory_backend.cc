#include "weir/store/memory/memory_backend.h"

#include <utility>
#include <variant>

#include "weir/base/mutex.h"
#include "weir/store/config/config_table.h"
#include "weir/store/config/config_transaction.h"
#include "weir/store/memory/memory_records.h"
#include "weir/store/memory/memory_reservations.h"
#include "weir/store/reservation/closing_reservations.h"
#include "weir/store/usage/usage_metrics.h"

namespace weir {
namespace {

class MemoryBuckets final : public BucketStore {
 public:
  MemoryBuckets(BucketTable& table, const MemoryBackendState& gate) : table_(table), gate_(gate) {}

  UnixMillis Now() const override { return table_.Now(); }

  void Acquire(std::span<const Charge> charges, UnixMillis now, Deadline,
               Done<Decision> done) override {
    done(gate_.Check().and_then([&] { return table_.Acquire(charges, now); }));
  }
  void Adjust(std::span<const Charge> charges, const AdjustTerms& terms, UnixMillis now, Deadline,
              Done<void> done) override {
    done(gate_.Check().and_then([&] { return table_.Adjust(charges, terms, now); }));
  }
  void Read(std::span<const BucketKey> keys, Deadline,
            Done<std::vector<std::optional<BucketRecord>>> done) override {
    done(gate_.Check().map([&] {
      std::vector<std::optional<BucketRecord>> records;
      for (const BucketKey& key : keys) records.push_back(table_.Read(key));
      return records;
    }));
  }
  void List(const BucketFilter& filter, const PageRequest& page, Deadline,
            Done<Page<BucketRecord>> done) override {
    done(gate_.Check().and_then([&] { return table_.List(filter, page); }));
  }

 private:
  BucketTable& table_;
  const MemoryBackendState& gate_;
};

class MemoryConfig final : public ConfigStore {
 public:
  MemoryConfig(BucketTable& buckets, const MemoryBackendState& gate, MemoryAudit& audit)
      : buckets_(buckets), gate_(gate), audit_(audit) {}

  void GetLimits(std::span<const Level> levels, Deadline,
                 Done<std::vector<std::optional<LevelLimits>>> done) override {
    done(gate_.Check().map([&] {
      const MutexLock lock(mutex_);
      std::vector<std::optional<LevelLimits>> found;
      for (const Level& level : levels) found.push_back(table_.GetLimits(level));
      return found;
    }));
  }
  void ListLimits(const LevelFilter& filter, const PageRequest& page, Deadline,
                  Done<Page<LevelRecord>> done) override {
    done(gate_.Check().and_then([&] {
      const MutexLock lock(mutex_);
      return table_.ListLimits(filter, page);
    }));
  }
  void GetEntities(std::span<const std::string> ids, Deadline,
                   Done<std::vector<std::optional<EntityRecord>>> done) override {
    done(gate_.Check().and_then([&] {
      const MutexLock lock(mutex_);
      return table_.ReadEntities(ids);
    }));
  }
  void ListEntities(const std::optional<std::string>& parent, const PageRequest& page, Deadline,
                    Done<Page<EntityRecord>> done) override {
    done(gate_.Check().and_then([&] {
      const MutexLock lock(mutex_);
      return table_.ListEntities(parent, page);
    }));
  }
  void Apply(std::vector<ConfigChange> changes, Deadline, Done<void> done) override {
    done(gate_.Check().and_then([&] { return ApplyLocked(changes); }));
  }

 private:
  // Buckets are removed under the same lock, so that a caller that finds the entity deleted finds
  // its buckets deleted too.
  Status ApplyLocked(std::span<const ConfigChange> changes) {
    const MutexLock lock(mutex_);
    const ConfigTable::HasBuckets has_buckets = [&](const std::string& id) {
      const auto page = buckets_.List({.entity = id, .resource = {}}, {.cursor = {}, .limit = 1});
      return page && !page->items.empty();
    };
    ConfigTransaction transaction(table_, has_buckets);
    std::vector<AuditEvent> events;
    WEIR_RETURN_IF_ERROR(transaction.Make(changes, &events));
    transaction.Commit();
    audit_.Note(std::move(events));
    for (const ConfigChange& change : changes) {
      if (const auto* gone = std::get_if<DeleteEntity>(&change)) buckets_.EraseEntity(gone->id);
    }
    return {};
  }

  BucketTable& buckets_;
  const MemoryBackendState& gate_;
  MemoryAudit& audit_;
  Mutex mutex_;
  ConfigTable table_ WEIR_GUARDED_BY(mutex_);
};

BucketTableOptions Counting(BucketTableOptions options, const std::optional<BucketTime>& time,
                            MemoryUsage& usage) {
  options.time = time;
  options.count_use = true;
  options.use_sink = [&usage](const BucketKey& key, const std::vector<HourOfUse>& hours) {
    usage.AddHours(key, hours);
  };
  return options;
}

class MemoryBackend final : public Backend {
 public:
  MemoryBackend(BucketTableOptions options, const Clock* clock, UsageLimits usage)
      : gate_(clock),
        usage_(gate_, usage),
        table_(Counting(std::move(options), gate_.time(), usage_)),
        reservations_([clock] { return MakeClosing(MakeMemoryReservations(clock)); }) {
    usage_.SetCounter(table_);
  }

  BucketStore& buckets() override { return buckets_; }
  ConfigStore& config() override { return config_; }
  AuditLog& audit() override { return audit_; }
  UsageStore& usage() override { return usage_; }
  NamespaceStore& namespaces() override { return namespaces_; }
  Result<ReservationBackend*> reservations() override { return reservations_.Get(); }
  Status RegisterMetrics(Registry& registry) const override {
    return RegisterUsageMetrics(registry, [this] { return usage_.stats(); });
  }
  Status Close() override {
    reservations_.Close();
    gate_.Close();
    return {};
  }
  std::string Describe() const override { return "memory:"; }

 private:
  MemoryBackendState gate_;
  MemoryUsage usage_;
  BucketTable table_;
  MemoryAudit audit_{gate_};
  MemoryBuckets buckets_{table_, gate_};
  MemoryConfig config_{table_, gate_, audit_};
  MemoryNamespaces namespaces_{gate_};
  LazyReservations reservations_;
};

}  // namespace

std::unique_ptr<Backend> MakeMemoryBackend(BucketTableOptions options, const Clock* clock,
                                           UsageLimits usage) {
  return std::make_unique<MemoryBackend>(std::move(options), clock, usage);
}

}  // namespace weir
