#include "apps/weir/command_tree.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <ranges>

namespace weir::app {

std::vector<const CLI::App*> VisibleVerbs(const CLI::App& group) {
  return group.get_subcommands(
      [](const CLI::App* verb) { return !verb->get_name().empty() && !verb->get_group().empty(); });
}

std::vector<const CLI::Option*> VisibleOptions(const CLI::App& verb) {
  const auto is_listed = [](const CLI::Option* option) {
    return option->nonpositional() && !option->get_group().empty();
  };
  std::vector<const CLI::Option*> options = verb.get_options(is_listed);
  const auto is_group = [](const CLI::App* group) { return group->get_name().empty(); };
  for (const CLI::App* group : verb.get_subcommands(is_group)) {
    // A group has a --help of its own, which duplicates the verb's.
    std::ranges::copy_if(
        VisibleOptions(*group), std::back_inserter(options),
        [&](const CLI::Option* option) { return option != group->get_help_ptr(); });
  }
  return options;
}

std::string FullName(const CLI::App& verb) {
  const CLI::App* above = verb.get_parent();
  return above == nullptr ? verb.get_name() : FullName(*above) + ' ' + verb.get_name();
}

bool TakesValue(const CLI::Option& option) { return option.get_expected_max() > 0; }

std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  const std::string& text = option.get_option_text();
  if (text.find('|') == std::string::npos) return {};
  std::vector<std::string> choices;
  for (const auto part : std::views::split(text, '|')) {
    std::string_view word(part.begin(), part.end());
    word = word.substr(0, word.find('['));
    const bool is_name = word.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string_view::npos;
    if (!is_name) choices.emplace_back(word);
  }
  return choices;
}

}  // namespace weir::app
