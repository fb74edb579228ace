// Audit events in the memory of one process.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "weir/base/result.h"
#include "weir/store/config/audit_log.h"

namespace weir {

/// The largest number of events in a table; if there are more, those that were written first are
/// dropped.
inline constexpr std::size_t kMaxAuditEvents = 100'000;

/// Follows the rules of AuditLog. A value; not thread-safe: its owner locks. `most` > 0.
class AuditTable {
 public:
  explicit AuditTable(std::size_t most = kMaxAuditEvents) : most_(most) {}

  /// Stores an event. `expires` is compared by Expire; the time in the event is not used for
  /// expiry, because it may come from a wrong clock.
  [[nodiscard]] Status Append(const AuditEvent& event, milliseconds expires);
  [[nodiscard]] Result<Page<AuditEvent>> List(std::string_view subject,
                                              const PageRequest& page) const;
  /// Drops the events whose `expires` is at most `counted`.
  void Expire(milliseconds counted);

 private:
  using Key = std::pair<std::string, std::string>;  // subject and id
  struct Stored {
    AuditEvent event;
    std::uint64_t number = 0;  // counts up in the order of writing
    milliseconds expires{0};
  };
  // Removes an event from all three maps. REQUIRES: it is stored.
  void Erase(const Key& key);

  std::size_t most_;
  std::uint64_t written_ = 0;
  std::map<Key, Stored> events_;
  std::map<std::uint64_t, Key> by_number_;
  std::map<std::pair<milliseconds, std::uint64_t>, Key> by_expiry_;
};

/// Returns the event as stores keep it: its time is cut to whole seconds.
AuditEvent AsKept(AuditEvent event);

}  // namespace weir
