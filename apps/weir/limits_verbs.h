// The verbs on a limits file: their options, and the file next to the store that it is for.
#pragma once

#include <optional>
#include <string>

#include "apps/weir/limits_plan.h"
#include "apps/weir/limits_scope.h"

namespace weir::app {

struct LimitsOptions {
  std::string file;
  std::optional<std::string> namespace_name;
  bool force = false;
  bool yes = false;
  bool detailed_exitcode = false;
};

/// A limits file and the text that it was read from.
struct LimitsSource {
  LimitsFile file;
  std::string text;
};

/// The limits file that the options name. Blocks.
[[nodiscard]] Result<LimitsSource> ReadLimitsFile(const LimitsOptions& options,
                                                  const Context& context);

/// A limits file next to the store it is for.
struct Compared {
  LimitsScope scope;
  Declared live;
};

/// kFailedPrecondition as CheckScope. Records that cannot be read are in Context::left_out. Blocks.
[[nodiscard]] Result<Compared> Compare(const LimitsOptions& options, const LimitsFile& file,
                                       Context& context, Backend& backend);

/// What applying a file to a store would do now.
struct Planned {
  LimitsScope scope;
  Plan plan;
};

/// As Compare; also kFailedPrecondition, with the line in the file, as NewParentFault. Blocks.
[[nodiscard]] Result<Planned> PlanNow(const LimitsOptions& options, const LimitsSource& source,
                                      Context& context, Backend& backend);

/// `weir limits apply`: asks before it deletes records, and makes changes only if the store is
/// still as it was when it was asked about. Blocks.
[[nodiscard]] Result<Exit> ApplyLimits(const LimitsOptions& options, Context& context);

}  // namespace weir::app
