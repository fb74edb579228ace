// One line of an archive: an audit event in JSON.
//
// Format: zae-limiter 0.17.0 (zae_limiter_aggregator/archiver.py): an object with event_id,
// entity_id, action, timestamp, principal, resource and details. Weir's archiver adds namespace_id.
#pragma once

#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/model/audit_event.h"

namespace weir {

struct ArchivedEvent {
  AuditEvent event;
  std::string namespace_id;  ///< empty: the line does not say

  friend bool operator==(const ArchivedEvent&, const ArchivedEvent&) = default;
};

/// Parses a line. Numbers that are not whole become text; unknown members are ignored. Fails with
/// kDataLoss, with the reason, if the line is not such an object, if it has no id, subject, action
/// or time, or if its id is not a ULID.
[[nodiscard]] Result<ArchivedEvent> ReadArchivedEvent(std::string_view line);

}  // namespace weir
