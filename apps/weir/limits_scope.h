// The namespace that the verbs on limits files work on, and the file that they hold against it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "apps/weir/context.h"
#include "weir/model/limits_file.h"

namespace weir::app {

/// Where a command reads or changes limits.
struct LimitsScope {
  std::string store;           ///< as StoreName
  std::string namespace_name;  ///< its name; its id if it has no name; empty: memory's
};

/// The scope of this run's store. Blocks.
[[nodiscard]] Result<LimitsScope> ScopeOf(Context& context, Backend& backend);

/// kFailedPrecondition if the file is meant for another namespace. Memory accepts every file: its
/// one namespace has no name and ends with the process.
[[nodiscard]] Status CheckScope(const LimitsFile& file, const std::string& file_name,
                                const LimitsScope& scope);

/// `answer` with the members "store" and "namespace" before its own.
nlohmann::ordered_json WithScope(const LimitsScope& scope, const nlohmann::ordered_json& answer);
/// "sqlite:weir.db, namespace default"
std::string TextOf(const LimitsScope& scope);

}  // namespace weir::app
