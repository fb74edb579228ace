// The verbs and options of the command line, as the help, the completion and the manual page list
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/weir/verbs.h"

namespace CLI {  // NOLINT(readability-identifier-naming): a library's
class Option;
}

namespace weir::app {

/// The verbs of a group that its help lists; a group of options, which is no verb, has no name.
std::vector<const CLI::App*> VisibleVerbs(const CLI::App& group);

/// The options of a verb that its help lists, without positionals, those of its groups of options
/// included.
std::vector<const CLI::Option*> VisibleOptions(const CLI::App& verb);

/// "weir limits plan".
std::string FullName(const CLI::App& verb);

/// The option takes a value.
bool TakesValue(const CLI::Option& option);

/// The words of a choice such as "relaxed|strict"; none of a text that names no words, as "N".
std::vector<std::string> ChoicesOf(const CLI::Option& option);

}  // namespace weir::app
