// Formats the result of a replay, as JSON and as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "apps/weir/replay/admission_check.h"
#include "apps/weir/replay/replay.h"

namespace weir::app {

/// A replay and the result of the check of its log.
struct ReplayResult {
  ReplayReport report;
  std::optional<LimitViolation> breach;  ///< nothing: the log satisfies the bound
};

nlohmann::ordered_json ToJson(const ReplayResult& result);
/// Returns a table of the tenants, one of their parents, the latency of decisions, and the result
/// of the check.
std::string TextOf(const ReplayResult& result);

}  // namespace weir::app
