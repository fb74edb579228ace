// Runs `weir ...` in this process, for the tests of its verbs.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "apps/weir/verbs.h"

namespace weir::app {

struct VerbEnd {
  Exit exit = Exit::kDone;
  std::string result;  ///< without what the verb wrote itself
  std::string error;   ///< the error or the warning
};

/// Runs a verb that `add` adds. A command line that the parser refuses is kUsage.
inline VerbEnd RunVerb(const ProcessContext& process, std::vector<std::string> args,
                       const std::function<void(CLI::App&, Action&)>& add,
                       CommonOptions common = {}) {
  CLI::App app("", "weir");
  app.fallthrough();
  app.add_flag("--json", common.json);
  Action chosen;
  add(app, chosen);
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::ParseError& error) {
    return {.exit = Exit::kUsage, .result = "", .error = error.what()};
  }
  Context context(process, common);
  const Result<Exit> done = chosen(context);
  return {.exit = done.value_or(context.failure),
          .result = context.result(),
          .error = done ? context.warning() : done.error().message};
}

}  // namespace weir::app
