#include "weir/store/config/audit_log.h"

#include <fmt/format.h>

#include "weir/model/quoted.h"
#include "weir/model/stored_text.h"
#include "weir/model/ulid.h"
#include "weir/store/listing.h"

namespace weir {

Status Check(const AuditEvent& event) {
  WEIR_RETURN_IF_ERROR(CheckSubject(event.subject));
  if (event.principal) WEIR_RETURN_IF_ERROR(CheckPrincipal(*event.principal));
  WEIR_RETURN_IF_ERROR(CheckText({.what = "audit action", .longest = 64}, event.action));
  if (event.resource) {
    WEIR_RETURN_IF_ERROR(
        CheckText({.what = "resource of an audit event", .longest = 256}, *event.resource));
  }
  WEIR_RETURN_IF_ERROR(CheckDetails(event.details));
  if (TimeOfUlid(event.id)) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("audit event {}: its id must be a ULID", Quoted(event.id)));
}

Status CheckRetention(std::int64_t days) {
  if (days >= 1 && days <= kMaxAuditRetentionDays) return {};
  return Fail(Code::kInvalidArgument, fmt::format("audit retention of {} days: expected 1 to {}",
                                                  days, kMaxAuditRetentionDays));
}

Status CheckAuditPage(std::string_view subject, const PageRequest& page) {
  WEIR_RETURN_IF_ERROR(CheckSubject(subject));
  WEIR_RETURN_IF_ERROR(CheckLimit(page));
  if (page.cursor.empty() || TimeOfUlid(page.cursor)) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("cursor {}: expected the id of an audit event", Quoted(page.cursor)));
}

}  // namespace weir
