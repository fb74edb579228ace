// The audit events of configuration changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/rng.h"
#include "weir/model/audit_event.h"
#include "weir/model/ulid.h"
#include "weir/store/config/config_store.h"

namespace weir {

/// Returns the event of a change, or nothing for a change that is not audited. `before` is the
/// entity's record before a PutEntity. The caller sets the event's id and time. Actions and details
/// are those of zae-limiter 0.17.0.
std::optional<AuditEvent> EventOf(const ConfigChange& change,
                                  const std::optional<EntityRecord>& before);

/// Returns the event of AuditLog::SetRetention. The caller sets the event's id and time.
AuditEvent RetentionEvent(std::int64_t before, std::int64_t days);

/// Sets ids, times and the principal of events. Not thread-safe.
class AuditStamp {
 public:
  /// `principal` is the author of the changes, if it is known.
  explicit AuditStamp(std::uint64_t seed, std::optional<std::string> principal = std::nullopt)
      : random_(seed), principal_(std::move(principal)) {}
  /// Sets id and time of each event, and the principal of events that have none. REQUIRES: 0 <= now
  /// < 2^48 milliseconds.
  void Put(std::vector<AuditEvent>& events, UnixMillis now);

 private:
  Rng random_;
  UlidMaker ids_;
  std::optional<std::string> principal_;
};

}  // namespace weir
