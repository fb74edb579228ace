// Runs the service until a signal ends it.
#pragma once

#include <cstddef>
#include <string>

#include "apps/weir/context.h"
#include "apps/weir/serve/serve_options.h"
#include "weir/rules/rule_set.h"
#include "weir/service/access_tokens.h"
#include "weir/store/backend.h"

namespace weir::app {

/// Returns the rules of the file, or none if the options name no file.
[[nodiscard]] Result<rules::RuleSet> ReadRules(const ServeOptions& options);

/// Returns "1 rule", "2 rules" and the like.
[[nodiscard]] std::string CountOfRules(std::size_t rules);

/// Returns the tokens of the file, or null if the options name no file.
[[nodiscard]] Result<service::AccessTokensPtr> ReadTokens(const ServeOptions& options);

/// Serves until SIGINT or SIGTERM, then drains. SIGHUP reads the rules, the tokens and the files
/// of TLS again, and so does a change of the file of the rules or the tokens. Blocks.
[[nodiscard]] Result<Exit> RunService(const ServeOptions& options, Context& context,
                                      Backend& backend);

}  // namespace weir::app
