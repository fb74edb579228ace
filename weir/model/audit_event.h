// Who changed what, and when.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir {

/// What an action tells about itself: null, a flag, a whole number, text, a list, or named parts.
struct AuditDetail {
  using List = std::vector<AuditDetail>;
  using Parts = std::map<std::string, AuditDetail>;
  std::variant<std::monostate, bool, std::int64_t, std::string, List, Parts> held;

  friend bool operator==(const AuditDetail&, const AuditDetail&);
};

inline bool operator==(const AuditDetail& a, const AuditDetail& b) { return a.held == b.held; }

struct AuditEvent {
  std::string id;       ///< a ULID: sorts by time
  std::string subject;  ///< an entity id, kSystemSubject, or as ResourceSubject
  UnixMillis at;        ///< stores keep whole seconds; the id holds the milliseconds
  std::string action;   ///< one of those below, or one that is not known here
  std::optional<std::string> principal;  ///< who did it, if that is known
  std::optional<std::string> resource;
  AuditDetail::Parts details;

  friend bool operator==(const AuditEvent&, const AuditEvent&) = default;
};

/// The actions of zae-limiter 0.17.0 (inventory section 4.9 and, for 0.17, 2.9).
namespace audit_action {
inline constexpr std::string_view kEntityCreated = "entity_created";
inline constexpr std::string_view kEntityDeleted = "entity_deleted";
inline constexpr std::string_view kEntityParentChanged = "entity_parent_changed";
inline constexpr std::string_view kLimitsSet = "limits_set";
inline constexpr std::string_view kLimitsDeleted = "limits_deleted";
inline constexpr std::string_view kBucketReset = "bucket_reset";
inline constexpr std::string_view kBucketToppedUp = "bucket_topped_up";
}  // namespace audit_action

/// What is done to the limits of everybody, and of a resource.
inline constexpr std::string_view kSystemSubject = "$SYSTEM";
std::string ResourceSubject(std::string_view resource);

/// kInvalidArgument unless it is an entity id or one of the two above.
[[nodiscard]] Status CheckSubject(std::string_view subject);
/// Of one event: how deep lists and parts may be nested, and the longest text and all texts and
/// names together, in bytes.
inline constexpr std::size_t kDeepestDetail = 16;
inline constexpr std::size_t kLongestDetail = 16'384;
inline constexpr std::size_t kLongestDetails = 131'072;
/// kInvalidArgument unless the names and texts are as stored_text.h says (texts may have several
/// lines) and within these bounds.
[[nodiscard]] Status CheckDetails(const AuditDetail::Parts& details);

/// kInvalidArgument unless it is made as an entity id, or begins with `arn:`, has at most 2048
/// bytes and none that is not printable ASCII.
[[nodiscard]] Status CheckPrincipal(std::string_view principal);

}  // namespace weir
