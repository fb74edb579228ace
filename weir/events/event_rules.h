// Which events say that a resource has ended, and which one. Format of the file and rules of
// matching: docs/design/events.md.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/events/event_pattern.h"
#include "weir/store/reservation_store.h"

namespace weir {

struct EventRule {
  std::string source;                   ///< for example "aws.emr"
  std::optional<std::string> type;      ///< detail-type, without blanks and in lower case
  EventPath id;                         ///< where the id of the resource is
  std::optional<EventPattern> pattern;  ///< both must match where both are given
  std::optional<EventPredicate> when;
  /// For programs in C++: must be true, too, if it is given. Its argument is the event in JSON,
  /// without an envelope of SNS. Is called by several threads, and must not throw.
  std::function<bool(std::string_view event)> also{};
};

/// In the order of the file.
struct EventRules {
  std::vector<EventRule> rules;
};

/// kInvalidArgument in the form of ParseYaml.
Result<EventRules> ReadEventRules(std::string_view text, std::string_view file_name);

/// What the event says has ended; nothing where it says of no resource that it has.
///
/// Of the rules for its source, those that name its detail-type are asked, or where there are none,
/// those that name none; the first counts whose pattern matches and whose id is a number or a text
/// that is not empty. Detail-types are compared without blanks, in lower case.
///
/// `ended_at` is the event's `time`, not after `now`; a time in whole seconds is the last
/// millisecond of its second, as the resource may have ended anywhere in it. Without a time it is
/// `now`. kInvalidArgument for what is no event (event_json.h), and for an id that no store takes
/// (CheckResourceId in store/reservation_checks.h): nothing is bound to it.
Result<std::optional<EndedResource>> MatchEvent(const EventRules& rules, std::string_view event,
                                                UnixMillis now);

}  // namespace weir
