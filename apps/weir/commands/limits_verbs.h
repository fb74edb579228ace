// The `weir limits` subcommands: options, and the comparison of a limits file with the store.
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

/// The records of a store that a limits file can declare.
struct StoreContent {
  LimitsScope scope;
  Declared live;
};

/// Reads the records of the store. Returns kFailedPrecondition if the file declares another
/// namespace than that of the store (CheckScope). Unreadable records are added to
/// Context::left_out. Blocks.
[[nodiscard]] Result<StoreContent> ReadStoreContent(const LimitsOptions& options,
                                                    const LimitsFile& file, Context& context,
                                                    Backend& backend);

/// The changes that applying a file to a store would make now.
struct ScopedPlan {
  LimitsScope scope;
  Plan plan;
};

/// Plans the changes after ReadStoreContent, whose errors it returns. Also returns
/// kFailedPrecondition, with the line of the file, if the changes would create a cycle of parents
/// or a cascade over too many entities (ParentFaultIntroducedBy). Blocks.
[[nodiscard]] Result<ScopedPlan> MakeScopedPlan(const LimitsOptions& options,
                                                const LimitsSource& source, Context& context,
                                                Backend& backend);

/// Runs `weir limits apply`: asks for confirmation before deleting records, and applies the changes
/// only if the store has not changed since the prompt. Blocks.
[[nodiscard]] Result<Exit> ApplyLimits(const LimitsOptions& options, Context& context);

}  // namespace weir::app
