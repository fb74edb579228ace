// The rules by which an event reports that a resource has ended. Format of the file and rules of
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
#include "weir/store/reservation/reservation_store.h"

namespace weir {

struct EventRule {
  std::string source;                   ///< for example "aws.emr"
  std::optional<std::string> type;      ///< detail-type, without blanks and in lower case
  EventPath id;                         ///< the path to the id of the resource
  std::optional<EventPattern> pattern;  ///< must match, if set
  std::optional<EventPredicate> when;   ///< must hold, if set
  /// For programs in C++: must return true, if set. The argument is the event in JSON, without an
  /// envelope of SNS. It is called by several threads, and must not throw.
  std::function<bool(std::string_view event)> extra_test{};
};

/// In the order of the file.
struct EventRules {
  std::vector<EventRule> rules;
};

/// What an event reports according to the rules.
struct EventMatch {
  std::optional<EndedResource> ended;  ///< nullopt: no rule applies
  /// If no rule applies: the first rule whose conditions hold and whose `id` leads to no id, as an
  /// index of EventRules::rules.
  std::optional<std::size_t> without_id;
};

/// Parses a file of rules. Errors are kInvalidArgument in the form of ParseYaml.
Result<EventRules> ReadEventRules(std::string_view text, std::string_view file_name);

/// Returns the resource that has ended according to the event.
///
/// Of the rules for the event's source, those that name its detail-type are evaluated or, if there
/// are none, those that name no detail-type. The first of these rules applies whose conditions hold
/// and whose id is a number or a string that is not empty. Detail-types are compared without
/// blanks, in lower case.
///
/// `ended_at` is the event's `time`, but not after `now`. A time in whole seconds means the last
/// millisecond of its second, because the resource may have ended anywhere in it. Without a valid
/// time, `ended_at` is `now`. Fails with kInvalidArgument if the text is not an event
/// (event_json.h), or if no store accepts the id, so that no slot can be bound to it
/// (CheckResourceId in store/reservation/reservation_checks.h).
Result<EventMatch> MatchEvent(const EventRules& rules, std::string_view event, UnixMillis now);

}  // namespace weir
