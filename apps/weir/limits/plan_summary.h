// Formats plans: the action for each record, and the number of actions.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "apps/weir/limits/limits_plan.h"
#include "apps/weir/terminal/json.h"

namespace weir::app {

struct ActionWords {
  std::string_view sign;
  std::string_view verb;
};

inline ActionWords WordsOf(PlannedAction action) {
  switch (action) {
    case PlannedAction::kCreate:
      return {"+", "create"};
    case PlannedAction::kUpdate:
      return {"~", "update"};
    case PlannedAction::kDelete:
      return {"-", "delete"};
    case PlannedAction::kLeave:
      return {" ", "leave"};
  }
  return {"", ""};
}

/// Returns {"create", "update", "delete", "leave", "unchanged", "changes": []}.
template <class AnyPlan>
Json SummaryOf(const AnyPlan& plan) {
  using enum PlannedAction;
  return {{"create", plan.Count(kCreate)}, {"update", plan.Count(kUpdate)},
          {"delete", plan.Count(kDelete)}, {"leave", plan.Count(kLeave)},
          {"unchanged", plan.unchanged},   {"changes", Json::array()}};
}

template <class AnyPlan>
std::string SummaryLineOf(const AnyPlan& plan) {
  using enum PlannedAction;
  return fmt::format("create {}, update {}, delete {}, leave {}, unchanged {}\n",
                     plan.Count(kCreate), plan.Count(kUpdate), plan.Count(kDelete),
                     plan.Count(kLeave), plan.unchanged);
}

}  // namespace weir::app
