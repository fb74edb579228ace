// What a change of the configuration says of itself in the audit log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/rng.h"
#include "weir/model/audit_event.h"
#include "weir/model/ulid.h"
#include "weir/store/config_store.h"

namespace weir {

/// The event of a change, `before` being the entity's record as it was where it changes an entity;
/// nothing where a change changes nothing that is audited. Id and time are the caller's to set.
/// Actions and details: zae-limiter's (inventory section 4.9).
std::optional<AuditEvent> EventOf(const ConfigChange& change,
                                  const std::optional<EntityRecord>& before);

/// Gives events their ids, times and principal. Not thread-safe.
class AuditStamp {
 public:
  /// `principal`: who makes the changes, if that is known.
  explicit AuditStamp(std::uint64_t seed, std::optional<std::string> principal = std::nullopt)
      : random_(seed), principal_(std::move(principal)) {}
  /// REQUIRES: 0 <= now < 2^48 milliseconds.
  void Put(std::vector<AuditEvent>& events, UnixMillis now);

 private:
  Rng random_;
  UlidMaker ids_;
  std::optional<std::string> principal_;
};

}  // namespace weir
