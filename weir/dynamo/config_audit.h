// What a change of the configuration says of itself in the audit log.
#pragma once

#include <optional>

#include "weir/dynamo/config_plan.h"
#include "weir/model/audit_event.h"

namespace weir::dynamo {

/// The event of a change, `before` being the entity's record as it was where it changes an entity;
/// nothing where a change changes nothing that is audited. Id and time are the caller's to set.
/// Actions and details: zae-limiter's (inventory section 4.9).
std::optional<AuditEvent> EventOf(const ConfigChange& change,
                                  const std::optional<EntityRecord>& before);

}  // namespace weir::dynamo
