// Where it is kept who changed what.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/base/done.h"
#include "weir/model/audit_event.h"
#include "weir/runtime/deadline.h"
#include "weir/store/bucket_store.h"

namespace weir {

/// How long events are kept where a namespace does not say.
inline constexpr std::int64_t kAuditRetentionDays = 90;

/// As AuditLog::Append and List hold what they are given.
[[nodiscard]] Status Check(const AuditEvent& event);
[[nodiscard]] Status CheckAuditPage(std::string_view subject, const PageRequest& page);

/// As BucketStore in threads, lifetimes and errors. Events of one namespace. The store deletes them
/// some time after they have been kept as long as the namespace says (90 days unless it does).
class AuditLog {
 public:
  virtual ~AuditLog() = default;

  /// Keeps the event under its id; the same id again counts once. kInvalidArgument if the
  /// subject, the principal or the details are none (CheckSubject, CheckPrincipal, CheckDetails),
  /// the action or the resource is no text of 1 to 64 or 256 bytes, or the id is no ULID.
  virtual void Append(const AuditEvent& event, Deadline deadline, Done<void> done) = 0;

  /// The events of one subject, the newest first. A cursor is the id of an event, behind which the
  /// page begins, whether that event is still there or not.
  virtual void List(std::string_view subject, const PageRequest& page, Deadline deadline,
                    Done<Page<AuditEvent>> done) = 0;
};

}  // namespace weir
