// The verbs, one file for each group.
#pragma once

#include <functional>

#include "apps/weir/context.h"

namespace CLI {  // NOLINT(readability-identifier-naming): a library's
class App;
}

namespace weir::app {

using Action = std::function<Result<Exit>(Context&)>;

/// Each function adds its verbs to `app`. If the command line names one of them, `chosen` is set to
/// its function. `chosen` must outlive the parse.
void AddTry(CLI::App& app, Action& chosen);
void AddSystem(CLI::App& app, Action& chosen);
void AddResource(CLI::App& app, Action& chosen);
void AddEntity(CLI::App& app, Action& chosen);
void AddBucket(CLI::App& app, Action& chosen);
void AddBuckets(CLI::App& app, Action& chosen);
void AddLoad(CLI::App& app, Action& chosen);
void AddReplay(CLI::App& app, Action& chosen);
void AddStore(CLI::App& app, Action& chosen);
void AddServe(CLI::App& app, Action& chosen);

}  // namespace weir::app
