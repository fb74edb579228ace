#include "weir/store/config/audit_table.h"

namespace weir {

AuditEvent AsKept(AuditEvent event) {
  const std::int64_t remainder = event.at.value % 1000;
  event.at.value -= remainder < 0 ? remainder + 1000 : remainder;
  return event;
}

Status AuditTable::Append(const AuditEvent& event, milliseconds expires) {
  WEIR_RETURN_IF_ERROR(Check(event));
  const Key key{event.subject, event.id};
  const Stored stored{.event = AsKept(event), .number = written_, .expires = expires};
  if (!events_.emplace(key, stored).second) return {};
  by_number_.emplace(written_, key);
  by_expiry_.emplace(std::pair(expires, written_++), key);
  if (events_.size() > most_) Erase(Key(by_number_.begin()->second));
  return {};
}

Result<Page<AuditEvent>> AuditTable::List(std::string_view subject, const PageRequest& page) const {
  WEIR_RETURN_IF_ERROR(CheckAuditPage(subject, page));
  // No ULID begins with a digit above '7', so "8" is after all ids.
  const std::string before = page.cursor.empty() ? "8" : page.cursor;
  auto at = events_.lower_bound({std::string(subject), before});
  Page<AuditEvent> found;
  while (at != events_.begin() && (--at)->first.first == subject) {
    if (found.items.size() == page.limit) {
      found.next = found.items.back().id;
      break;
    }
    found.items.push_back(at->second.event);
  }
  return found;
}

void AuditTable::Expire(milliseconds counted) {
  while (!by_expiry_.empty() && by_expiry_.begin()->first.first <= counted) {
    Erase(Key(by_expiry_.begin()->second));
  }
}

void AuditTable::Erase(const Key& key) {
  const auto found = events_.find(key);
  by_number_.erase(found->second.number);
  by_expiry_.erase({found->second.expires, found->second.number});
  events_.erase(found);
}

}  // namespace weir
