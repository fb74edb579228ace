#include "apps/weir/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <ostream>
#include <system_error>

#include "apps/weir/arguments.h"
#include "apps/weir/command_tree.h"
#include "apps/weir/commands/kinesis_verbs.h"
#include "apps/weir/commands/reservation_verbs.h"
#include "apps/weir/commands/rules/rules_verbs.h"
#include "apps/weir/commands/table_verbs.h"
#include "apps/weir/completion.h"
#include "apps/weir/context.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"
#include "apps/weir/verbs.h"
#include "weir/embedded/file/schema.h"
#include "weir/model/audit_event.h"
#include "weir/model/nearest_key.h"

namespace weir::app {
namespace {

constexpr char kFooter[] =
    "Each verb takes --store, --durability, --lock-wait, --by, --json, --log-level and\n"
    "--log-format, before or after it: see weir --help.\n"
    "Exit codes: 0 done, 1 failed, 2 bad usage, 3 refused by a limit.";

Result<Durability> ParseDurability(const std::string& text) {
  if (text == "relaxed") return Durability::kRelaxed;
  if (text == "strict") return Durability::kStrict;
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}' is not a durability: write relaxed or strict", text));
}

void AddCommonOptions(CLI::App& app, CommonOptions& common) {
  AddParsed(
      app, "--store", common.store, ParseStoreUrl,
      "the store: memory:, sqlite:PATH, dynamodb://TABLE, or for slots rate-limiter-py://BASE "
      "(default: WEIR_STORE, else ZAEL_STACK's table, else weir/weir.db in the XDG state folder)")
      ->option_text("URL");
  AddParsed(app, "--durability", common.durability, ParseDurability,
            "relaxed acknowledges changes at once, strict after the commit (default: relaxed)")
      ->option_text("relaxed|strict");
  AddParsed(
      app, "--lock-wait", common.lock_wait, ParseDuration,
      "maximum time to wait for another process that owns the file of the store (default: 5s)")
      ->option_text("DURATION");
  AddParsed(app, "--by", common.by, Checked(CheckPrincipal),
            "the author of changes, for the audit log (default: WEIR_BY, else for a table the "
            "ARN of the AWS identity, else user@host)")
      ->option_text("NAME");
  app.add_flag("--json", common.json, "print the output as JSON");
  AddParsed(
      app, "--log-level", common.log.lowest, ParseLogLevel,
      "lowest level of the events on standard error: debug, info, warning, error or off (default: "
      "warning)")
      ->option_text("debug|info|warning|error|off");
  AddParsed(app, "--log-format", common.log.format, ParseLogFormat,
            "format of the events on standard error: text or json (default: text)")
      ->option_text("text|json");
}

void AddVerbs(CLI::App& app, Action& chosen) {
  AddTry(app, chosen);
  AddLimits(app, chosen, WithReservationsOfStore);
  AddRules(app, chosen);
  AddSystem(app, chosen);
  AddResource(app, chosen);
  AddEntity(app, chosen);
  AddBucket(app, chosen);
  AddBuckets(app, chosen);
  AddLoad(app, chosen);
  AddServe(app, chosen);
  AddReplay(app, chosen);
  AddStore(app, chosen);
  AddTable(app, chosen, WithTableOfStore);
  AddNamespace(app, chosen, WithTableOfStore);
  AddAudit(app, chosen, WithTableOfStore);
  AddUsage(app, chosen, WithTableOfStore);
  AddAggregate(app, chosen, WithTableOfStore);
  AddKinesis(app, chosen, WithKinesisOfRegion);
  AddReserve(app, chosen, WithReservationsOfStore);
  AddReservation(app, chosen, WithReservationsOfStore);
  AddTokens(app, chosen, WithReservationsOfStore);
  AddCompletion(app, chosen);
  AddMan(app, chosen);
}

/// Returns the verbs of the command line up to the end of parsing: "weir entity create".
std::string PathOf(const CLI::App& app) {
  std::string path = app.get_name();
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path += ' ' + at->get_name();
  }
  return path;
}

const CLI::App& LastVerbOf(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

std::vector<std::string_view> NamesOfVerbs(const CLI::App& group) {
  std::vector<std::string_view> names;
  for (const CLI::App* verb : VisibleVerbs(group)) names.push_back(verb->get_name());
  return names;
}

std::string NoSuchVerb(std::string_view word, const std::vector<std::string_view>& names) {
  // If there are few names, all are listed: the nearest of them may be wrong ("bash" for "tcsh").
  constexpr std::size_t kFew = 3;
  const std::string expected = names.size() <= kFew
                                   ? fmt::format("one of {}", fmt::join(names, ", "))
                                   : NearestKey(word, names);
  return fmt::format("there is no verb '{}'; expected {}", EscapeControls(word), expected);
}

std::string NoSuchOption(const CLI::App& verb, std::string_view word) {
  const bool runs_command = verb.get_option_no_throw(kCommandArgument) != nullptr;
  return fmt::format("there is no option {}{}", EscapeControls(word),
                     runs_command ? "; write -- before a command that has options" : "");
}

/// Returns the options of the group of which one is required: "--entity, --resource, --system".
std::string OptionsToChoose(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::App* group : verb.get_subcommands([](const CLI::App* one) {
         return one->get_name().empty() && one->get_require_option_min() == 1;
       })) {
    for (const CLI::Option* option : VisibleOptions(*group)) {
      if (option != group->get_help_ptr()) names.push_back(option->get_name());
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Returns the name of a required option as the usage line has it: "FILE" for "--file".
std::string NameInUsage(const std::string& name, const CLI::App& verb) {
  const CLI::Option* option = verb.get_option_no_throw(name);
  return option != nullptr && option->get_positional() ? option->get_name(true) : name;
}

/// Returns the part of a text of CLI11 between two others; nothing if it has not this form.
std::optional<std::string> Between(std::string_view text, std::string_view before,
                                   std::string_view after) {
  const std::size_t end = text.find(after, std::min(before.size(), text.size()));
  if (!text.starts_with(before) || end == text.npos) return std::nullopt;
  return std::string(text.substr(before.size(), end - before.size()));
}

/// Returns the text of an error in the words of this program.
std::string Reworded(const CLI::ParseError& error, const CLI::App& verb) {
  std::string text = error.what();
  // Its text is one of this program, and may contain any value.
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) return text;
  const auto name_before = [&](std::string_view after) { return Between(text, "", after); };
  if (const auto name = name_before(": 1 required ")) return *name + " needs a value";
  if (const auto name = name_before(": At Most 1 required but received ")) {
    return *name + " is given more than once";
  }
  if (const auto flag = Between(text, "Could not convert: ", " = ")) {
    return *flag + " takes no value";
  }
  if (text.starts_with("Exactly 1 option from [")) {
    return "exactly one of these options is required: " + OptionsToChoose(verb);
  }
  constexpr std::string_view kRequired = " is required";
  if (!text.ends_with(kRequired)) return text;
  return NameInUsage(text.substr(0, text.size() - kRequired.size()), verb) + std::string(kRequired);
}

/// Returns the first error of the command line. An unknown verb or option has priority: the parser
/// took the words after it for arguments, so their errors are only consequences.
std::string ComplaintOf(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& last = LastVerbOf(app);
  const std::vector<std::string_view> verbs = NamesOfVerbs(last);
  for (const std::string& word : app.remaining(true)) {
    if (word == "--") continue;
    if (word.starts_with('-')) return NoSuchOption(last, word);
    if (!verbs.empty()) return NoSuchVerb(word, verbs);
    return fmt::format("'{}' is one word too many", EscapeControls(word));
  }
  return Reworded(error, last);
}

/// Returns an option with an empty text, which a shell produces from an unset variable. The words
/// of a command may be empty.
const CLI::Option* EmptyOptionOf(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_name() == kCommandArgument) continue;
    if (std::ranges::find(option->results(), "") != option->results().end()) return option;
  }
  for (const CLI::App* verb : app.get_subcommands()) {
    if (const CLI::Option* option = EmptyOptionOf(*verb)) return option;
  }
  return nullptr;
}

std::string EmptyText(std::string_view option) {
  return fmt::format("{}: the text is empty; write a value, or omit the option", option);
}

/// Returns the option of a `--name=` among the words before a command, or an empty text. The parser
/// would take a flag as given, and the next word as the value of an option.
std::string OptionWithoutText(const std::vector<std::string>& args) {
  for (const std::string& word : args) {
    if (word == "--") break;
    const bool is_assignment = word.starts_with("--") && word.find('=') == word.size() - 1;
    if (is_assignment) return word.substr(0, word.size() - 1);
  }
  return "";
}

/// Returns the complaint about a command line that the parser accepts but the user hardly meant, or
/// an empty text.
std::string UnintendedUsage(const CLI::App& app, const std::vector<std::string>& args) {
  if (const CLI::Option* empty = EmptyOptionOf(app)) return EmptyText(empty->get_name());
  const CLI::Option* command = LastVerbOf(app).get_option_no_throw(kCommandArgument);
  const bool lacks_command = command != nullptr && command->count() == 0;
  return lacks_command && args.back() == "--" ? "no command follows --" : "";
}

/// The destination and format of complaints.
struct ComplaintSink {
  std::ostream& err;
  bool json = false;
};

Exit PrintWarning(Exit code, std::string_view message, const ComplaintSink& sink) {
  sink.err << "weir: " << OneLine(std::string(message)) << '\n';
  return code;
}

Exit FailWith(Exit code, const Error& error, const ComplaintSink& sink) {
  if (!sink.json) return PrintWarning(code, error.message, sink);
  const Json json = {{"error", {{"code", CodeName(error.code)}, {"message", error.message}}}};
  sink.err << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  return code;
}

Exit FailWithUsage(std::string_view complaint, const CLI::App& app, const ComplaintSink& sink) {
  return FailWith(
      Exit::kUsage,
      {Code::kInvalidArgument, fmt::format("{}; see '{} --help'", complaint, PathOf(app))}, sink);
}

Error ErrorOf(const std::exception& problem) {
  if (dynamic_cast<const std::bad_alloc*>(&problem) != nullptr) {
    return {Code::kResourceExhausted, "no memory is left; let the process have more (ulimit -v)"};
  }
  const auto* error = dynamic_cast<const std::system_error*>(&problem);
  // Of the calls that throw this, only the start of a thread fails so.
  if (error != nullptr && error->code() == std::errc::resource_unavailable_try_again) {
    return {Code::kResourceExhausted,
            fmt::format("no thread can be started: {}; let the process have more threads "
                        "(ulimit -u) or memory (ulimit -v)",
                        error->code().message())};
  }
  return {Code::kInternal, problem.what()};
}

// Turns exceptions of libraries into errors, so that the process always ends with a message.
Result<Exit> WithoutExceptions(const std::function<Result<Exit>()>& work) {
  try {
    return work();
  } catch (const std::exception& problem) {
    return Fail(ErrorOf(problem));
  }
}

Exit PrintText(std::string_view text, std::ostream& out, const ComplaintSink& sink) {
  out << text << std::flush;
  if (out) return Exit::kDone;
  return FailWith(Exit::kFailed,
                  {Code::kUnavailable,
                   "cannot write the output to stdout; the command's changes, if any, are made"},
                  sink);
}

/// Turns `weir help entity create` into `weir entity create --help`.
std::vector<std::string> WithoutHelpVerb(std::vector<std::string> args) {
  if (args.empty() || args.front() != "help") return args;
  args.erase(args.begin());
  args.emplace_back("--help");
  return args;
}

/// Returns whether --json is given, even if the command line is otherwise wrong.
bool WantsJson(const std::vector<std::string>& args) {
  const auto end = std::ranges::find(args, "--");
  return std::find(args.begin(), end, "--json") != end;
}

Exit PrintHelp(const CLI::App& app, std::ostream& out, const ComplaintSink& sink) {
  const std::vector<std::string_view> verbs = NamesOfVerbs(LastVerbOf(app));
  for (const std::string& word : app.remaining(true)) {
    if (!verbs.empty() && !word.starts_with('-')) {
      return FailWithUsage(NoSuchVerb(word, verbs), app, sink);
    }
  }
  return PrintText(app.help(), out, sink);
}

// Prints the result of the verb, then the items that were left out, then its warning.
Exit RunChosen(const Action& chosen, const CommonOptions& common, const ProcessContext& process) {
  Context context(process, common);
  const Result<Exit> done = WithoutExceptions([&] { return chosen(context); });
  const ComplaintSink sink{process.err, common.json};
  if (!done) return FailWith(context.failure, done.error(), sink);
  if (PrintText(context.result(), process.out, sink) != Exit::kDone) return Exit::kFailed;
  for (const std::string& line : context.left_out())
    process.err << "weir: left out: " << OneLine(line) << '\n';
  if (!context.warning().empty()) return PrintWarning(*done, context.warning(), sink);
  return *done;
}

}  // namespace

Exit Run(const std::vector<std::string>& given, const ProcessContext& process) {
  const std::vector<std::string> args = WithoutHelpVerb(given);
  const ComplaintSink sink{process.err, WantsJson(args)};
  CLI::App app("Weir limits the rates at which entities use resources.", "weir");
  app.fallthrough();
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", fmt::format("weir {}, file schema {}", WEIR_VERSION,
                                                Migrations().back().version));
  app.get_formatter()->label("SUBCOMMAND", "VERB");
  app.footer(kFooter);
  CommonOptions common;
  Action chosen;
  AddCommonOptions(app, common);
  AddVerbs(app, chosen);
  if (const std::string option = OptionWithoutText(args); !option.empty()) {
    return FailWithUsage(EmptyText(option), app, sink);
  }
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::CallForHelp&) {
    return PrintHelp(app, process.out, sink);
  } catch (const CLI::CallForVersion& version) {
    return PrintText(std::string(version.what()) + '\n', process.out, sink);
  } catch (const CLI::ParseError& error) {
    return FailWithUsage(ComplaintOf(app, error), app, sink);
  }
  if (!chosen) return FailWithUsage("a verb is missing", app, sink);
  if (const std::string unintended = UnintendedUsage(app, args); !unintended.empty())
    return FailWithUsage(unintended, app, sink);
  return RunChosen(chosen, common, process);
}

Exit FailWithException(const std::vector<std::string>& args, const std::exception& problem,
                       std::ostream& err) {
  return FailWith(Exit::kFailed, ErrorOf(problem), {err, WantsJson(args)});
}

}  // namespace weir::app
