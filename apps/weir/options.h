// Options whose texts are read by a function that returns a Result.
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

/// The positional that is a command line of its own: its words may be empty, or like options.
inline constexpr char kCommandArgument[] = "COMMAND";

/// An option or positional read by `parse` (text to Result) into `target`, which must outlive the
/// parse. A bad text ends the parse with the error's message.
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

/// Words as they are typed: CLI11 takes "[a,b]" apart, and "{}" for no word, unless it gets them
/// raw and may add none to an option. It gives a positional words up to its least number, so that
/// is the largest one. `read` may throw CLI::ValidationError.
template <class Read>
CLI::Option* AddWords(CLI::App& app, const std::string& name, const Read& read,
                      const std::string& description) {
  constexpr int kMany = CLI::detail::expected_max_vector_size;
  const CLI::callback_t call = [read](const CLI::results_t& words) {
    read(words);
    return true;
  };
  return app.add_option(name, call, description)
      ->expected(name.starts_with('-') ? 1 : kMany, kMany)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

/// AddParsed for something given several times: `parse` reads all the texts at once. An option
/// takes one text each time it is given, so that it swallows no positional.
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

/// Reads a text that `check` (text to Status) accepts as it is.
template <class Check>
auto Checked(Check check) {
  return [check](const std::string& text) -> Result<std::string> {
    WEIR_RETURN_IF_ERROR(check(text));
    return text;
  };
}

/// A verb whose options are a T: `run(T, Context)` is chosen when the command line names it.
template <class T, class Run>
CLI::App& AddVerb(CLI::App& app, const std::string& name, const std::string& description,
                  const std::shared_ptr<T>& options, Action& chosen, Run run) {
  CLI::App& verb = *app.add_subcommand(name, description)->group(kVerbs);
  verb.callback([options, run = std::move(run), &chosen] {
    chosen = [options, run](Context& context) { return run(*options, context); };
  });
  return verb;
}

/// A word that is followed by one of its verbs.
inline CLI::App& AddGroup(CLI::App& app, const std::string& name, const std::string& description) {
  CLI::App& group = *app.add_subcommand(name, description)->group(kVerbs);
  group.require_subcommand(0, 1);
  return group;
}

}  // namespace weir::app
