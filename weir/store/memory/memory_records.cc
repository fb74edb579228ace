#include "weir/store/memory/memory_records.h"

#include <chrono>
#include <utility>

#include "weir/model/identifier.h"
#include "weir/model/namespace_name.h"

namespace weir {

MemoryBackendState::MemoryBackendState(const Clock* clock)
    : time_(clock == nullptr ? std::nullopt : std::optional(BucketTime::FromWall(*clock))) {
  if (time_) labels_.emplace(*time_);
}

void MemoryAudit::Append(const AuditEvent& event, Deadline, Done<void> done) {
  done(gate_.Check().and_then([&] {
    const MutexLock lock(mutex_);
    return AppendLocked(event);
  }));
}

void MemoryAudit::List(std::string_view subject, const PageRequest& page, Deadline,
                       Done<Page<AuditEvent>> done) {
  done(gate_.Check().and_then([&] {
    const MutexLock lock(mutex_);
    return table_.List(subject, page);
  }));
}

void MemoryAudit::GetRetention(Deadline, Done<std::int64_t> done) {
  done(gate_.Check().map([&] {
    const MutexLock lock(mutex_);
    return retention_days_;
  }));
}

void MemoryAudit::SetRetention(std::int64_t days, const AuditEvent& event, Deadline,
                               Done<void> done) {
  done(gate_.Check().and_then([&]() -> Status {
    WEIR_RETURN_IF_ERROR(CheckRetention(days));
    WEIR_RETURN_IF_ERROR(weir::Check(event));
    const MutexLock lock(mutex_);
    retention_days_ = days;
    return AppendLocked(event);
  }));
}

void MemoryAudit::Note(std::vector<AuditEvent> events) {
  const MutexLock lock(mutex_);
  stamp_.Put(events, gate_.now());
  // These events are made from checked changes, so Append cannot refuse them.
  for (const AuditEvent& event : events) (void)AppendLocked(event);
}

Status MemoryAudit::AppendLocked(const AuditEvent& event) {
  table_.Expire(horizon_.Count(gate_.boot()));
  return table_.Append(event, horizon_.ExpiryOfNew(std::chrono::days(retention_days_)));
}

void MemoryUsage::Add(const UsageSnapshot& added, Deadline, Done<void> done) {
  done(gate_.Check().and_then([&] {
    const MutexLock lock(mutex_);
    return table_.Add(added);
  }));
}

void MemoryUsage::List(const UsageFilter& filter, const PageRequest& page, Deadline,
                       Done<Page<UsageSnapshot>> done) {
  done(gate_.Check().and_then([&] { return Check(filter); }).and_then([&] {
    if (counter_ != nullptr) counter_->ReportUse(filter);
    const MutexLock lock(mutex_);
    return table_.List(filter, page);
  }));
}

void MemoryUsage::AddHours(const BucketKey& key, std::span<const HourOfUse> hours) {
  const MutexLock lock(mutex_);
  table_.AddHours(key, hours, gate_.bucket_now());
}

UsageStats MemoryUsage::stats() const {
  const MutexLock lock(mutex_);
  return table_.stats();
}

void MemoryNamespaces::Register(std::string_view name, Deadline, Done<Namespace> done) {
  done(gate_.Check().and_then([&] { return CheckNamespace(name); }).map([&] {
    const MutexLock lock(mutex_);
    Namespace wanted;
    do {
      wanted.id = NewNamespaceId([&]() WEIR_REQUIRES(mutex_) { return random_.Next(); });
    } while (table_.GetById(wanted.id));
    wanted.name = name;
    wanted.created_at = gate_.now();
    return table_.Register(std::move(wanted));
  }));
}

void MemoryNamespaces::Get(std::string_view name, Deadline, Done<std::optional<Namespace>> done) {
  done(gate_.Check().and_then([&] { return CheckNamespace(name); }).map([&] {
    const MutexLock lock(mutex_);
    return table_.Get(name);
  }));
}

void MemoryNamespaces::List(const PageRequest& page, Deadline, Done<Page<Namespace>> done) {
  done(gate_.Check().and_then([&] {
    const MutexLock lock(mutex_);
    return table_.List(page);
  }));
}

void MemoryNamespaces::Delete(std::string_view name, Deadline, Done<Namespace> done) {
  done(gate_.Check().and_then([&] { return CheckNamespace(name); }).and_then([&] {
    const MutexLock lock(mutex_);
    return table_.Delete(name, gate_.now());
  }));
}

void MemoryNamespaces::Recover(std::string_view id, Deadline, Done<Namespace> done) {
  done(gate_.Check().and_then([&] { return CheckNamespaceId(id); }).and_then([&] {
    const MutexLock lock(mutex_);
    return table_.Recover(id);
  }));
}

void MemoryNamespaces::Orphans(const PageRequest& page, Deadline, Done<Page<Namespace>> done) {
  done(gate_.Check().and_then([&] {
    const MutexLock lock(mutex_);
    return table_.Orphans(page);
  }));
}

void MemoryNamespaces::Purge(std::string_view id, Deadline, Done<std::uint64_t> done) {
  done(gate_.Check().and_then([&] { return CheckNamespaceId(id); }).and_then([&] {
    const MutexLock lock(mutex_);
    auto begun = table_.BeginPurge(id);
    if (begun) table_.EndPurge(id);
    return begun.map([](const Namespace&) { return std::uint64_t{0}; });
  }));
}

void MemoryNamespaces::Resolve(std::string_view name_or_id, Deadline, Done<std::string> done) {
  done(gate_.Check().and_then([&] {
    const MutexLock lock(mutex_);
    return table_.Resolve(name_or_id);
  }));
}

}  // namespace weir
