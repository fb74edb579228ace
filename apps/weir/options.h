// Options that are parsed by a function that returns a Result.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/weir/verbs.h"
#include "weir/base/result.h"

namespace weir::app {

/// The heading of a list of verbs in a help text.
inline constexpr char kVerbs[] = "Verbs";

/// The positional that is a command line itself: its words may be empty or look like options.
inline constexpr char kCommandArgument[] = "COMMAND";

/// Adds an option or positional that `parse` (text to Result) parses into `target`, which must
/// outlive the parse. An invalid text ends the parse with the error's message.
template <class T, class Parse>
CLI::Option* AddParsed(CLI::App& app, const std::string& name, T& target, Parse parse,
                       const std::string& description) {
  const auto read = [&target, parse, name](const std::string& text) {
    auto parsed = parse(text);
    if (!parsed) throw CLI::ValidationError(name, parsed.error().message);
    target = std::move(*parsed);
  };
  return app.add_option_function<std::string>(name, read, description);
}

/// Adds an option or positional for words exactly as they are typed. CLI11 would split "[a,b]", and
/// read "{}" as no word; it does not if the target is a callback and extra arguments are not
/// allowed. A positional then gets no more words than its minimum, so its minimum is kMany. An
/// option has one word each time it is given, so that it does not take a positional; its help says
/// that it may be repeated. `read` may throw CLI::ValidationError.
template <class Read>
CLI::Option* AddWords(CLI::App& app, const std::string& name, const Read& read,
                      const std::string& description) {
  constexpr int kMany = CLI::detail::expected_max_vector_size;
  const CLI::callback_t call = [read](const CLI::results_t& words) {
    read(words);
    return true;
  };
  const bool is_option = name.starts_with('-');
  return app.add_option(name, call, description + (is_option ? " (may be repeated)" : ""))
      ->expected(is_option ? 1 : kMany, kMany)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

/// Like AddParsed, but for AddWords: `parse` reads all texts at once.
template <class T, class Parse>
CLI::Option* AddParsedList(CLI::App& app, const std::string& name, T& target, Parse parse,
                           const std::string& description) {
  const auto read = [&target, parse, name](const std::vector<std::string>& texts) {
    auto parsed = parse(texts);
    if (!parsed) throw CLI::ValidationError(name, parsed.error().message);
    target = std::move(*parsed);
  };
  return AddWords(app, name, read, description);
}

/// Returns a parser for a text that `check` (text to Status) accepts unchanged.
template <class Check>
auto Checked(Check check) {
  return [check](const std::string& text) -> Result<std::string> {
    WEIR_RETURN_IF_ERROR(check(text));
    return text;
  };
}

/// Like Checked, but accepts an empty text, which Run refuses with the same message for all
/// options.
template <class Check>
auto CheckedUnlessEmpty(Check check) {
  return Checked(
      [check](const std::string& text) { return text.empty() ? Status() : check(text); });
}

/// Adds a verb with options of type T: `run(T, Context)` is chosen if the command line names the
/// verb, and none of the verb's own verbs.
template <class T, class Run>
CLI::App& AddVerb(CLI::App& app, const std::string& name, const std::string& description,
                  const std::shared_ptr<T>& options, Action& chosen, Run run) {
  CLI::App& verb = *app.add_subcommand(name, description)->group(kVerbs);
  verb.callback([options, run = std::move(run), &chosen, &verb] {
    if (!verb.get_subcommands().empty()) return;
    chosen = [options, run](Context& context) { return run(*options, context); };
  });
  return verb;
}

/// Adds a group: a word that is followed by one of its verbs.
inline CLI::App& AddGroup(CLI::App& app, const std::string& name, const std::string& description) {
  CLI::App& group = *app.add_subcommand(name, description)->group(kVerbs);
  group.require_subcommand(0, 1);
  return group;
}

}  // namespace weir::app
