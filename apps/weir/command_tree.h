// The verbs and options of the command line, in the form that the help, the completion and the
// manual page list them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/weir/verbs.h"

namespace CLI {  // NOLINT(readability-identifier-naming): a library's
class Option;
}

namespace weir::app {

/// Returns the verbs of a group that its help lists. A group of options, which has no name, is not
/// a verb.
std::vector<const CLI::App*> VisibleVerbs(const CLI::App& group);

/// Returns the options of a verb that its help lists: without positionals, with the options of its
/// groups of options.
std::vector<const CLI::Option*> VisibleOptions(const CLI::App& verb);

/// Returns the verb with its groups: "weir limits plan".
std::string FullName(const CLI::App& verb);

/// Returns whether the option takes a value.
bool TakesValue(const CLI::Option& option);

/// Returns the words of a choice such as "relaxed|strict", or none if the option's text is not a
/// choice, such as "N".
std::vector<std::string> ChoicesOf(const CLI::Option& option);

}  // namespace weir::app
