// Audit events, usage and namespaces of the memory backend, without persistence.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/store/bucket/bucket_table.h"
#include "weir/store/bucket/label_clock.h"
#include "weir/store/config/audit_horizon.h"
#include "weir/store/config/audit_table.h"
#include "weir/store/config/config_audit.h"
#include "weir/store/config/namespace_table.h"
#include "weir/store/config/usage_table.h"

namespace weir {

/// Shared by the stores of a memory backend: its state (open or closed) and its clocks.
/// Thread-safe.
class MemoryBackendState {
 public:
  /// If `clock` is null, the time is always the beginning of 1970.
  explicit MemoryBackendState(const Clock* clock);
  void Close() { closed_ = true; }
  /// Returns kUnavailable after Close.
  [[nodiscard]] Status Check() const {
    if (closed_) return Fail(Code::kUnavailable, "memory: the backend is closed");
    return {};
  }
  /// Returns nothing if there is no clock.
  const std::optional<BucketTime>& time() const { return time_; }
  /// Returns bucket time.
  UnixMillis bucket_now() const { return time_ ? time_->Now() : UnixMillis{}; }
  /// Returns the label clock's time.
  UnixMillis now() const { return labels_ ? labels_->Now() : UnixMillis{}; }
  /// Returns the machine's time since boot.
  nanoseconds boot() const { return time_ ? time_->clock().BootNow() : nanoseconds(0); }

 private:
  const std::optional<BucketTime> time_;
  mutable std::optional<LabelClock> labels_;
  std::atomic<bool> closed_ = false;
};

/// These stores complete each call before it returns. The gate must outlive them.
class MemoryAudit final : public AuditLog {
 public:
  explicit MemoryAudit(const MemoryBackendState& gate) : gate_(gate) {}

  void Append(const AuditEvent& event, Deadline deadline, Done<void> done) override;
  void List(std::string_view subject, const PageRequest& page, Deadline deadline,
            Done<Page<AuditEvent>> done) override;
  void GetRetention(Deadline deadline, Done<std::int64_t> done) override;
  void SetRetention(std::int64_t days, const AuditEvent& event, Deadline deadline,
                    Done<void> done) override;
  /// Stores the events of configuration changes, with the present time.
  void Note(std::vector<AuditEvent> events);

 private:
  /// Drops expired events, then stores this one.
  Status AppendLocked(const AuditEvent& event) WEIR_REQUIRES(mutex_);

  const MemoryBackendState& gate_;
  Mutex mutex_;
  AuditTable table_ WEIR_GUARDED_BY(mutex_);
  AuditHorizon horizon_ WEIR_GUARDED_BY(mutex_){{}, gate_.boot(), /*is_same_boot=*/false};
  std::int64_t retention_days_ WEIR_GUARDED_BY(mutex_) = kAuditRetentionDays;
  AuditStamp stamp_ WEIR_GUARDED_BY(mutex_){0};
};

/// Also gets the use that a table of buckets counts.
class MemoryUsage final : public UsageStore {
 public:
  MemoryUsage(const MemoryBackendState& gate, UsageLimits limits) : gate_(gate), table_(limits) {}

  void Add(const UsageSnapshot& added, Deadline deadline, Done<void> done) override;
  void List(const UsageFilter& filter, const PageRequest& page, Deadline deadline,
            Done<Page<UsageSnapshot>> done) override;
  /// Sets the table that passes its use to AddHours. Must be called before the first call of
  /// another method. The table must live as long as calls are made.
  void SetCounter(BucketTable& counter) { counter_ = &counter; }
  /// Adds hours of a bucket. `counter` calls it as its use sink.
  void AddHours(const BucketKey& key, std::span<const HourOfUse> hours);
  UsageStats stats() const;

 private:
  const MemoryBackendState& gate_;
  BucketTable* counter_ = nullptr;
  mutable Mutex mutex_;  // taken after the locks of `counter_`
  UsageTable table_ WEIR_GUARDED_BY(mutex_);
};

/// Only a registry: other namespaces of this memory cannot be opened, so a purge finds no data.
class MemoryNamespaces final : public NamespaceStore {
 public:
  explicit MemoryNamespaces(const MemoryBackendState& gate) : gate_(gate) {}

  void Register(std::string_view name, Deadline deadline, Done<Namespace> done) override;
  void Get(std::string_view name, Deadline deadline, Done<std::optional<Namespace>> done) override;
  void List(const PageRequest& page, Deadline deadline, Done<Page<Namespace>> done) override;
  void Delete(std::string_view name, Deadline deadline, Done<Namespace> done) override;
  void Recover(std::string_view id, Deadline deadline, Done<Namespace> done) override;
  void Orphans(const PageRequest& page, Deadline deadline, Done<Page<Namespace>> done) override;
  void Purge(std::string_view id, Deadline deadline, Done<std::uint64_t> done) override;
  void Resolve(std::string_view name_or_id, Deadline deadline, Done<std::string> done) override;

 private:
  const MemoryBackendState& gate_;
  Mutex mutex_;
  NamespaceTable table_ WEIR_GUARDED_BY(mutex_);
  Rng random_ WEIR_GUARDED_BY(mutex_){0};
};

}  // namespace weir
