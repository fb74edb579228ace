// Audit events in the memory of one process.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "weir/base/result.h"
#include "weir/store/audit_log.h"

namespace weir {

/// At most this many events are kept; those that were written first leave first.
inline constexpr std::size_t kMostAuditEvents = 100'000;

/// A value with the rules of AuditLog; not thread-safe: its owner locks. `most` > 0.
class AuditTable {
 public:
  explicit AuditTable(std::size_t most = kMostAuditEvents) : most_(most) {}

  /// `expires` is what Expire compares: no event expires by its own time alone, which
  /// a clock that was wrong may have given it.
  [[nodiscard]] Status Append(const AuditEvent& event, milliseconds expires);
  [[nodiscard]] Result<Page<AuditEvent>> List(std::string_view subject,
                                              const PageRequest& page) const;
  /// Drops events whose `expires` is at most this.
  void Expire(milliseconds counted);

 private:
  using Key = std::pair<std::string, std::string>;  // subject and id
  struct Stored {
    AuditEvent event;
    std::uint64_t number = 0;  // in the order of writing
    milliseconds expires{0};
  };
  void Erase(const Key& key);

  std::size_t most_;
  std::uint64_t written_ = 0;
  std::map<Key, Stored> events_;
  std::map<std::uint64_t, Key> by_number_;
  std::map<std::pair<milliseconds, std::uint64_t>, Key> by_expiry_;
};

/// The event as stores keep it: its time in whole seconds.
AuditEvent AsKept(AuditEvent event);

}  // namespace weir
