// Audit events: records of changes of entities and limits, with their authors and times.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir {

/// A detail of an audit event: null, a flag, a whole number, a text, a list, or named parts.
struct AuditDetail {
  using List = std::vector<AuditDetail>;
  using Parts = std::map<std::string, AuditDetail>;
  std::variant<std::monostate, bool, std::int64_t, std::string, List, Parts> value;

  friend bool operator==(const AuditDetail&, const AuditDetail&);
};

inline bool operator==(const AuditDetail& a, const AuditDetail& b) { return a.value == b.value; }

struct AuditEvent {
  std::string id;       ///< a ULID: sorts by time
  std::string subject;  ///< an entity id, kSystemSubject or a ResourceSubject
  UnixMillis at;        ///< stores keep whole seconds; the milliseconds are in the id
  std::string action;   ///< one of audit_action, or an action that this version does not know
  std::optional<std::string> principal;  ///< the author of the change, if known
  std::optional<std::string> resource;
  AuditDetail::Parts details;

  friend bool operator==(const AuditEvent&, const AuditEvent&) = default;
};

/// The actions of zae-limiter 0.17.0 (AuditAction in its models.py), and two that only Weir has:
/// kRetentionSet, and kLegacyLimitsRemoved of a migration.
namespace audit_action {
inline constexpr std::string_view kEntityCreated = "entity_created";
inline constexpr std::string_view kEntityDeleted = "entity_deleted";
inline constexpr std::string_view kEntityParentChanged = "entity_parent_changed";
inline constexpr std::string_view kLimitsSet = "limits_set";
inline constexpr std::string_view kLimitsDeleted = "limits_deleted";
inline constexpr std::string_view kBucketReset = "bucket_reset";
inline constexpr std::string_view kBucketToppedUp = "bucket_topped_up";
inline constexpr std::string_view kRetentionSet = "audit_retention_set";
inline constexpr std::string_view kLegacyLimitsRemoved = "legacy_limits_removed";
}  // namespace audit_action

/// The subject of changes to the system limits, and to the limits of a resource.
inline constexpr std::string_view kSystemSubject = "$SYSTEM";
WEIR_API std::string ResourceSubject(std::string_view resource);

/// Returns kInvalidArgument unless `subject` is an entity id, kSystemSubject or a ResourceSubject.
[[nodiscard]] WEIR_API Status CheckSubject(std::string_view subject);
/// Bounds of one event: the deepest nesting of lists and parts, the longest text, and the sum of
/// all names and texts. Lengths are in bytes.
inline constexpr std::size_t kDeepestDetail = 16;
inline constexpr std::size_t kLongestDetail = 16'384;
inline constexpr std::size_t kLongestDetails = 131'072;
/// Returns kInvalidArgument unless the names and texts satisfy stored_text.h (texts may have
/// several lines) and all details are within the bounds above.
[[nodiscard]] WEIR_API Status CheckDetails(const AuditDetail::Parts& details);

/// Returns kInvalidArgument unless `principal` has the form of an entity id, or begins with `arn:`
/// and has at most 2048 bytes, all of them printable ASCII other than the space.
[[nodiscard]] WEIR_API Status CheckPrincipal(std::string_view principal);

}  // namespace weir
