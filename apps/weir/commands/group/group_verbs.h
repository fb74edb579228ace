// Verbs of a group that have a source of their own: `weir bucket show` and others.
#pragma once

#include "apps/weir/commands/table_verbs.h"
#include "apps/weir/verbs.h"

namespace weir::app {

/// Each function adds a verb to its group; see verbs.h.
void AddBucketShow(CLI::App& group, Action& chosen);
void AddResourceCapacity(CLI::App& group, Action& chosen);
void AddEntityUpdate(CLI::App& group, Action& chosen);
/// Adds check and upgrade. `with_table` as in table_verbs.h.
void AddTableUpgrade(CLI::App& group, Action& chosen, const WithTable& with_table);

}  // namespace weir::app
