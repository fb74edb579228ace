// The audit log in a DynamoDB table. Events are also available as items and writes, so that a
// transaction can store an event together with the change that the event describes.
//
// Format: zae-limiter 0.17.0 (_build_audit_item in its repository.py).
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/base/done.h"
#include "weir/dynamodb/table.h"
#include "weir/model/audit_event.h"
#include "weir/runtime/deadline.h"
#include "weir/store/config/audit_log.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

/// Returns the item of the event. The item expires `retention_days` after the event.
Item AuditItem(const Keys& keys, const AuditEvent& event, std::int64_t retention_days);

/// Returns a put of that item, to be sent alone or as one action of the transaction that makes the
/// change which the event describes.
Write AuditWrite(const Keys& keys, const AuditEvent& event, std::int64_t retention_days);

/// Returns the event that the item holds. kDataLoss, with the item's key in the message, if the
/// item has no id, action or time. Numbers that do not fit into 64-bit integers, and values of
/// types that AuditDetail does not have, are returned as text.
[[nodiscard]] Result<AuditEvent> ReadAuditEvent(const Item& item);

/// Returns the retention in days that the item with the system's configuration sets: at most
/// kMaxAuditRetentionDays, and kAuditRetentionDays if it sets none, or one that is not positive.
/// `system` may be null: there is no such item.
std::int64_t RetentionIn(const Item* system);

/// The audit log of one namespace. Thread-safe. `table` must outlive this object and every call.
class AuditTrail final : public AuditLog {
 public:
  AuditTrail(Table& table, Keys keys) : table_(table), keys_(std::move(keys)) {}

  /// Reads the retention, and then stores the event. If the event is stored already, the call
  /// succeeds, so a call may be repeated.
  void Append(const AuditEvent& event, Deadline deadline, Done<void> done) override;
  void List(std::string_view subject, const PageRequest& page, Deadline deadline,
            Done<Page<AuditEvent>> done) override;

  /// Returns RetentionIn(the system's configuration).
  void GetRetention(Deadline deadline, Done<std::int64_t> done) override;
  void SetRetention(std::int64_t days, const AuditEvent& event, Deadline deadline,
                    Done<void> done) override;

 private:
  Table& table_;
  const Keys keys_;
};

}  // namespace weir::dynamo
