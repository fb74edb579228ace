// AuditLog on the table, and events as items, so that they can join a transaction.
//
// Format: zae-limiter 0.17.0, inventory sections 1.3 (k) and 4.9.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/base/done.h"
#include "weir/dynamo/keys.h"
#include "weir/dynamo/table.h"
#include "weir/model/audit_event.h"
#include "weir/runtime/deadline.h"
#include "weir/store/audit_log.h"

namespace weir::dynamo {

/// The event's item; it expires `retention_days` after the event.
Item AuditItem(const Keys& keys, const AuditEvent& event, std::int64_t retention_days);

/// That item as a write, of its own or one action of the transaction that it tells about.
Write AuditWrite(const Keys& keys, const AuditEvent& event, std::int64_t retention_days);

/// kDataLoss, naming it, for an item without id, action or time. Numbers that are not whole or too
/// big, and kinds that no detail has, are told as text.
[[nodiscard]] Result<AuditEvent> ReadAuditEvent(const Item& item);

/// The table must outlive it and every call.
class AuditTrail final : public AuditLog {
 public:
  AuditTrail(Table& table, Keys keys) : table_(table), keys_(std::move(keys)) {}

  /// Reads RetentionDays first.
  void Append(const AuditEvent& event, Deadline deadline, Done<void> done) override;
  void List(std::string_view subject, const PageRequest& page, Deadline deadline,
            Done<Page<AuditEvent>> done) override;

  /// `audit_retention_days` of the system's limits, else kAuditRetentionDays.
  void RetentionDays(Deadline deadline, Done<std::int64_t> done);

 private:
  Table& table_;
  const Keys keys_;
};

}  // namespace weir::dynamo
