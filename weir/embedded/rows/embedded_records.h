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

 private:
  FileTasks& jobs_;
};

/// Added usage survives a kill; it survives a power loss as decisions do (Durability).
class EmbeddedUsage final : public UsageStore {
 public:
  explicit EmbeddedUsage(FileTasks& jobs) : jobs_(jobs) {}

  void Add(const UsageSnapshot& added, Deadline deadline, Done<void> done) override;
  void List(const UsageFilter& filter, const PageRequest& page, Deadline deadline,
            Done<Page<UsageSnapshot>> done) override;

 private:
  FileTasks& jobs_;
};

}  // namespace weir
