// The store of audit events: which principal changed what.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/base/api.h"
#include "weir/base/done.h"
#include "weir/model/audit_event.h"
#include "weir/runtime/deadline.h"
#include "weir/store/bucket/bucket_store.h"

namespace weir {

/// The retention of events in days, until SetRetention sets another one, and the longest one.
inline constexpr std::int64_t kAuditRetentionDays = 90;
inline constexpr std::int64_t kMaxAuditRetentionDays = 36'500;

/// Return kInvalidArgument for arguments that AuditLog::Append, SetRetention or List does not
/// accept.
[[nodiscard]] WEIR_API Status Check(const AuditEvent& event);
[[nodiscard]] WEIR_API Status CheckRetention(std::int64_t days);
[[nodiscard]] WEIR_API Status CheckAuditPage(std::string_view subject, const PageRequest& page);

/// The audit events of one namespace. Threads, lifetimes and errors are as for BucketStore. The
/// store deletes an event some time after its retention has passed; the retention that applied when
/// the event was stored counts.
class WEIR_API AuditLog {
 public:
  virtual ~AuditLog() = default;

  /// Stores the event under its id; a second call with the same id has no effect. Fails with
  /// kInvalidArgument if the subject, the principal or the details are invalid (CheckSubject,
  /// CheckPrincipal, CheckDetails), if the action is not a text of 1 to 64 bytes or the resource
  /// not one of 1 to 256 bytes, or if the id is not a ULID.
  virtual void Append(const AuditEvent& event, Deadline deadline, Done<void> done) = 0;

  /// Returns the events of one subject, the newest first. A cursor is the id of an event; the page
  /// begins after that event, whether or not it is still stored.
  virtual void List(std::string_view subject, const PageRequest& page, Deadline deadline,
                    Done<Page<AuditEvent>> done) = 0;

  /// Returns the retention, in days, of events that are stored from now on.
  virtual void GetRetention(Deadline deadline, Done<std::int64_t> done) = 0;
  /// Sets this retention, and stores `event`, to which it already applies. Both happen or neither.
  /// Fails with kInvalidArgument unless `days` is from 1 to kMaxAuditRetentionDays and Append
  /// accepts the event.
  virtual void SetRetention(std::int64_t days, const AuditEvent& event, Deadline deadline,
                            Done<void> done) = 0;
};

}  // namespace weir
