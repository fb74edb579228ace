#include "apps/weir/completion.h"

#include <CLI/CLI.hpp>

#include "apps/weir/command_tree.h"

namespace weir::app {
namespace {

/// Returns the verb and the program, whose options the verb has too. A verb between them keeps its
/// options for itself.
std::vector<const CLI::App*> SourcesOfOptions(const CLI::App& verb) {
  const CLI::App* program = &verb;
  while (program->get_parent() != nullptr) program = program->get_parent();
  if (program == &verb) return {program};
  return {&verb, program};
}

const CLI::Option* FindOption(const CLI::App& verb, const std::string& word) {
  for (const CLI::App* at : SourcesOfOptions(verb)) {
    for (const CLI::Option* option : VisibleOptions(*at)) {
      if (option->check_name(word)) return option;
    }
  }
  return nullptr;
}

const CLI::App* FindVerb(const CLI::App& group, const std::string& word) {
  const auto verbs = group.get_subcommands(
      [&](const CLI::App* verb) { return !word.empty() && verb->get_name() == word; });
  return verbs.empty() ? nullptr : verbs.front();
}

/// The state of the parser before the typed word.
struct ParsedWords {
  const CLI::App* verb;                       ///< the innermost verb
  const CLI::Option* awaits_value = nullptr;  ///< the last word is this option
  bool is_after_dashes = false;               ///< all further words are arguments
};

void Take(const std::string& word, ParsedWords& parsed) {
  if (parsed.is_after_dashes) return;
  if (parsed.awaits_value != nullptr) {
    parsed.awaits_value = nullptr;
  } else if (word == "--") {
    parsed.is_after_dashes = true;
  } else if (word.starts_with('-')) {
    const CLI::Option* option = FindOption(*parsed.verb, word);
    if (option != nullptr && TakesValue(*option)) parsed.awaits_value = option;
  } else if (const CLI::App* verb = FindVerb(*parsed.verb, word)) {
    parsed.verb = verb;
  }
}

std::vector<Candidate> ValueCandidates(const CLI::Option& option, const std::string& before) {
  std::vector<Candidate> values;
  for (const std::string& choice : ChoicesOf(option)) values.push_back({before + choice, ""});
  return values;
}

std::vector<Candidate> OptionCandidates(const CLI::App& verb) {
  std::vector<Candidate> options;
  for (const CLI::App* at : SourcesOfOptions(verb)) {
    for (const CLI::Option* option : VisibleOptions(*at)) {
      if (option->get_lnames().empty()) continue;
      // Every verb has --help, which is listed once; only the program has --version.
      if (at != &verb && (option == at->get_help_ptr() || option == at->get_version_ptr()))
        continue;
      options.push_back({"--" + option->get_lnames().front(), option->get_description()});
    }
  }
  return options;
}

std::vector<Candidate> VerbCandidates(const CLI::App& group) {
  std::vector<Candidate> verbs;
  for (const CLI::App* verb : VisibleVerbs(group)) {
    verbs.push_back({verb->get_name(), verb->get_description()});
  }
  return verbs;
}

std::vector<Candidate> AllFor(const ParsedWords& parsed, const std::string& typed) {
  if (parsed.is_after_dashes) return {};
  if (parsed.awaits_value != nullptr) return ValueCandidates(*parsed.awaits_value, "");
  if (!typed.starts_with('-')) return VerbCandidates(*parsed.verb);
  const std::size_t equals = typed.find('=');
  if (equals == std::string::npos) return OptionCandidates(*parsed.verb);
  const CLI::Option* option = FindOption(*parsed.verb, typed.substr(0, equals));
  return option == nullptr ? std::vector<Candidate>()
                           : ValueCandidates(*option, typed.substr(0, equals + 1));
}

}  // namespace

std::vector<Candidate> CandidatesFor(const CLI::App& root, const std::vector<std::string>& words) {
  ParsedWords parsed{.verb = &root};
  const std::string typed = words.empty() ? "" : words.back();
  for (std::size_t i = 0; i + 1 < words.size(); ++i) Take(words[i], parsed);
  std::vector<Candidate> candidates = AllFor(parsed, typed);
  std::erase_if(candidates,
                [&](const Candidate& candidate) { return !candidate.word.starts_with(typed); });
  return candidates;
}

}  // namespace weir::app
