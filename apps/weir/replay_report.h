// What a replay found, for programs and for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "apps/weir/admission_check.h"
#include "apps/weir/replay.h"

namespace weir::app {

/// A replay with the verdict on its log.
struct ReplayAnswer {
  ReplayReport report;
  std::optional<BoundBreach> breach;  ///< nothing: the bound held
};

nlohmann::ordered_json ToJson(const ReplayAnswer& answer);
/// A table by tenant, one of the entities above them, the latency of decisions,
/// the verdict.
std::string TextOf(const ReplayAnswer& answer);

}  // namespace weir::app
