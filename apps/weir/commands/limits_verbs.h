// The verbs on a limits file: their options, and the comparison of the file with its store.
#pragma once

#include <optional>
#include <string>

#include "apps/weir/limits/limits_plan.h"
#include "apps/weir/limits/limits_scope.h"

namespace weir::app {

struct LimitsOptions {
  std::string file;
  std::optional<std::string> namespace_name;
  bool force = false;
  bool yes = false;
  bool detailed_exitcode = false;
};

/// A limits file and its text.
struct LimitsSource {
  LimitsFile file;
  std::string text;
};

/// Reads the limits file that the options name. Blocks.
[[nodiscard]] Result<LimitsSource> ReadLimitsFile(const LimitsOptions& options,
                                                  const Context& context);

/// The content of a store, to compare with a limits file.
struct Compared {
  LimitsScope scope;
  Declared live;
};

/// Reads the store. Returns kFailedPrecondition as CheckScope does. Unreadable records are added to
/// Context::left_out. Blocks.
[[nodiscard]] Result<Compared> Compare(const LimitsOptions& options, const LimitsFile& file,
                                       Context& context, Backend& backend);

/// The changes that applying a file to a store would make now.
struct Planned {
  LimitsScope scope;
  Plan plan;
};

/// As Compare. Also returns kFailedPrecondition, with the line of the file, for a NewParentFault.
/// Blocks.
[[nodiscard]] Result<Planned> PlanNow(const LimitsOptions& options, const LimitsSource& source,
                                      Context& context, Backend& backend);

/// Runs `weir limits apply`: asks before records are deleted, and applies the changes only if the
/// store still is as it was when the question was asked. Blocks.
[[nodiscard]] Result<Exit> ApplyLimits(const LimitsOptions& options, Context& context);

}  // namespace weir::app
