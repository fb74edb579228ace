// The namespace of the verbs on limits files, and the check that a file belongs to it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "apps/weir/context.h"
#include "weir/model/limits_file.h"

namespace weir::app {

/// The store and namespace in which a command reads or changes limits.
struct LimitsScope {
  std::string store;           ///< in the form of StoreName
  std::string namespace_name;  ///< its name, or its id if it has no name; empty for memory
};

/// Returns the scope of this run's store. Blocks.
[[nodiscard]] Result<LimitsScope> ScopeOf(Context& context, Backend& backend);

/// Returns kFailedPrecondition if the file is meant for another namespace. Memory accepts every
/// file: its only namespace has no name and ends with the process.
[[nodiscard]] Status CheckScope(const LimitsFile& file, const std::string& file_name,
                                const LimitsScope& scope);

/// Returns the JSON `result` with "store" and "namespace" as its first members.
nlohmann::ordered_json WithScope(const LimitsScope& scope, const nlohmann::ordered_json& result);
/// Returns "sqlite:weir.db, namespace default".
std::string TextOf(const LimitsScope& scope);

}  // namespace weir::app
