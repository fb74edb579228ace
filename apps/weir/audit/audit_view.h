// Audit events in the output of verbs.
#pragma once

#include <string>

#include "apps/weir/terminal/json.h"
#include "weir/base/page.h"
#include "weir/model/audit_event.h"

namespace weir::app {

/// Returns {"id", "at", "subject", "action", "principal", "resource", "details"}.
Json ToJson(const AuditEvent& event);

/// Returns a table of the events, and the option for the next page if there is one.
std::string TextOf(const Page<AuditEvent>& page);

}  // namespace weir::app
