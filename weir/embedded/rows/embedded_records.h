// AuditLog and UsageStore on a file. None of their data is cached in memory.
#pragma once

#include <string_view>

#include "weir/embedded/file/file_tasks.h"
#include "weir/store/config/audit_log.h"
#include "weir/store/config/usage_store.h"

namespace weir {

/// Appended events survive a power loss, as changes of limits do.
class EmbeddedAudit final : public AuditLog {
 public:
  explicit EmbeddedAudit(FileTasks& jobs) : jobs_(jobs) {}

  void Append(const AuditEvent& event, Deadline deadline, Done<void> done) override;
  void List(std::string_view subject, const PageRequest& page, Deadline deadline,
            Done<Page<AuditEvent>> done) override;
  void GetRetention(Deadline deadline, Done<std::int64_t> done) override;
  void SetRetention(std::int64_t days, const AuditEvent& event, Deadline deadline,
                    Done<void> done) override;

 private:
  FileTasks& jobs_;
};

/// Lists the stored rows, merged with the use that `buckets` still counts. Added usage survives a
/// kill; it survives a power loss as decisions do (Durability).
class EmbeddedUsage final : public UsageStore {
 public:
  EmbeddedUsage(FileTasks& jobs, const BucketTable& buckets) : jobs_(jobs), buckets_(buckets) {}

  void Add(const UsageSnapshot& added, Deadline deadline, Done<void> done) override;
  void List(const UsageFilter& filter, const PageRequest& page, Deadline deadline,
            Done<Page<UsageSnapshot>> done) override;

 private:
  FileTasks& jobs_;
  const BucketTable& buckets_;
};

}  // namespace weir
