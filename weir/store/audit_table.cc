#include "weir/store/audit_table.h"

namespace weir {

AuditEvent AsKept(AuditEvent event) {
  const std::int64_t beyond = event.at.value % 1000;
  event.at.value -= beyond < 0 ? beyond + 1000 : beyond;
  return event;
}

Status AuditTable::Append(const AuditEvent& event) {
  WEIR_RETURN_IF_ERROR(Check(event));
  const Key key{event.subject, event.id};
  if (!events_.emplace(key, AsKept(event)).second) return {};
  by_age_.emplace(event.at, key);
  if (events_.size() > most_) Erase(by_age_.begin());
  return {};
}

Result<Page<AuditEvent>> AuditTable::List(std::string_view subject, const PageRequest& page) const {
  WEIR_RETURN_IF_ERROR(CheckAuditPage(subject, page));
  // No ULID begins with more than '7'.
  const std::string before = page.cursor.empty() ? "8" : page.cursor;
  auto at = events_.lower_bound({std::string(subject), before});
  Page<AuditEvent> found;
  while (at != events_.begin() && (--at)->first.first == subject) {
    if (found.items.size() == page.limit) {
      found.next = found.items.back().id;
      break;
    }
    found.items.push_back(at->second);
  }
  return found;
}

void AuditTable::Expire(UnixMillis before) {
  while (!by_age_.empty() && by_age_.begin()->first < before) Erase(by_age_.begin());
}

void AuditTable::Erase(const std::multimap<UnixMillis, Key>::iterator& oldest) {
  events_.erase(oldest->second);
  by_age_.erase(oldest);
}

}  // namespace weir
