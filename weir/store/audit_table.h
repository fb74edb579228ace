// Audit events in the memory of one process.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "weir/base/result.h"
#include "weir/store/audit_log.h"

namespace weir {

/// At most so many events are kept; the oldest leave first.
inline constexpr std::size_t kMostAuditEvents = 100'000;

/// A value with the rules of AuditLog; not thread-safe: its owner locks. `most` > 0.
class AuditTable {
 public:
  explicit AuditTable(std::size_t most = kMostAuditEvents) : most_(most) {}

  [[nodiscard]] Status Append(const AuditEvent& event);
  [[nodiscard]] Result<Page<AuditEvent>> List(std::string_view subject,
                                              const PageRequest& page) const;
  /// Drops what is older than this.
  void Expire(UnixMillis before);

 private:
  using Key = std::pair<std::string, std::string>;  // subject and id
  void Erase(const std::multimap<UnixMillis, Key>::iterator& oldest);

  std::size_t most_;
  std::map<Key, AuditEvent> events_;
  std::multimap<UnixMillis, Key> by_age_;
};

/// The event as stores keep it: its time in whole seconds.
AuditEvent AsKept(AuditEvent event);

}  // namespace weir
