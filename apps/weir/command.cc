#include "apps/weir/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <functional>
#include <ostream>

#include "apps/weir/arguments.h"
#include "apps/weir/context.h"
#include "apps/weir/kinesis_verbs.h"
#include "apps/weir/options.h"
#include "apps/weir/reservation_verbs.h"
#include "apps/weir/table_verbs.h"
#include "apps/weir/text.h"
#include "apps/weir/verbs.h"
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
  AddParsed(app, "--store", common.store, ParseStoreUrl,
            "memory:, sqlite:PATH or dynamodb://TABLE (default: WEIR_STORE, else ZAEL_STACK's "
            "table, else weir/weir.db in the XDG state folder)")
      ->option_text("URL");
  AddParsed(app, "--durability", common.durability, ParseDurability,
            "relaxed answers at once, strict after the commit (default: relaxed)")
      ->option_text("relaxed|strict");
  AddParsed(app, "--lock-wait", common.lock_wait, ParseDuration,
            "how long to wait for a process that owns the file (default: 5s)")
      ->option_text("DURATION");
  AddParsed(app, "--by", common.by, Checked(CheckPrincipal),
            "who makes changes, for the audit log (default: WEIR_BY, else user@host)")
      ->option_text("NAME");
  app.add_flag("--json", common.json, "answer in JSON");
  AddParsed(
      app, "--log-level", common.log.lowest, ParseLogLevel,
      "events on standard error from this level on: debug, info, warning, error or off (default: "
      "warning)")
      ->option_text("LEVEL");
  AddParsed(app, "--log-format", common.log.format, ParseLogFormat,
            "how events are written: text or json (default: text)")
      ->option_text("FORMAT");
}

void AddVerbs(CLI::App& app, Action& chosen) {
  AddTry(app, chosen);
  AddLimits(app, chosen, WithReservationsOfStore);
  AddSystem(app, chosen);
  AddResource(app, chosen);
  AddEntity(app, chosen);
  AddBucket(app, chosen);
  AddBuckets(app, chosen);
  AddLoad(app, chosen);
  AddReplay(app, chosen);
  AddStore(app, chosen);
  AddTable(app, chosen, WithTableOfStore);
  AddNamespace(app, chosen, WithTableOfStore);
  AddAudit(app, chosen, WithTableOfStore);
  AddUsage(app, chosen, WithTableOfStore);
  AddKinesis(app, chosen, WithKinesisOfRegion);
  AddReserve(app, chosen, WithReservationsOfStore);
  AddReservation(app, chosen, WithReservationsOfStore);
  AddTokens(app, chosen, WithReservationsOfStore);
}

/// "weir entity create": the words of the command line up to where parsing got.
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

std::string NoSuchVerb(const CLI::App& group, std::string_view word) {
  const auto verbs = group.get_subcommands([](const CLI::App*) { return true; });
  std::vector<std::string_view> names;
  names.reserve(verbs.size());
  for (const CLI::App* verb : verbs) names.push_back(verb->get_name());
  return fmt::format("there is no verb '{}'; right would be {}", EscapeControls(word),
                     NearestKey(word, names));
}

std::string NoSuchOption(const CLI::App& verb, std::string_view word) {
  const bool runs_command = verb.get_option_no_throw("COMMAND") != nullptr;
  return fmt::format("there is no option {}{}", EscapeControls(word),
                     runs_command ? "; write -- before a command that has options" : "");
}

/// What is wrong with the command line. A verb or an option that does not exist comes first: the
/// words that follow it were taken for arguments, and are the next thing to be wrong.
std::string Complaint(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& last = LastVerbOf(app);
  const bool is_group = !last.get_subcommands([](const CLI::App*) { return true; }).empty();
  for (const std::string& word : app.remaining(true)) {
    if (word == "--") continue;
    if (word.starts_with('-')) return NoSuchOption(last, word);
    if (is_group) return NoSuchVerb(last, word);
  }
  return error.what();
}

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return EscapeControls(text);
}

Exit FailWith(Exit code, std::string_view message, const World& world) {
  world.err << "weir: " << OneLine(std::string(message)) << '\n';
  return code;
}

// A library that throws must not end the process without a line.
Result<Exit> WithoutExceptions(const std::function<Result<Exit>()>& work) {
  try {
    return work();
  } catch (const std::exception& problem) {
    return Fail(Code::kInternal, problem.what());
  }
}

Exit RunChosen(const Action& chosen, const CommonOptions& common, const World& world) {
  Context context(world, common);
  const Result<Exit> done = WithoutExceptions([&] { return chosen(context); });
  if (!done) return FailWith(context.failure, done.error().message, world);
  world.out << context.answer() << std::flush;
  if (!world.out) return FailWith(Exit::kFailed, "cannot write the answer to stdout", world);
  for (const std::string& line : context.left_out())
    world.err << "weir: left out: " << OneLine(line) << '\n';
  if (!context.warning().empty()) return FailWith(*done, context.warning(), world);
  return *done;
}

}  // namespace

Exit Run(const std::vector<std::string>& args, const World& world) {
  CLI::App app("Weir limits rates: who may use what, how much, and when again.", "weir");
  app.fallthrough();
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", "weir " WEIR_VERSION);
  app.get_formatter()->label("SUBCOMMAND", "VERB");
  app.footer(kFooter);
  CommonOptions common;
  Action chosen;
  AddCommonOptions(app, common);
  AddVerbs(app, chosen);
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::CallForHelp&) {
    world.out << app.help() << std::flush;
    return Exit::kDone;
  } catch (const CLI::CallForVersion& version) {
    world.out << version.what() << '\n';
    return Exit::kDone;
  } catch (const CLI::ParseError& error) {
    const std::string path = PathOf(app);
    return FailWith(Exit::kUsage, fmt::format("{}; see '{} --help'", Complaint(app, error), path),
                    world);
  }
  if (!chosen) {
    const std::string path = PathOf(app);
    return FailWith(Exit::kUsage, fmt::format("a verb is missing; see '{} --help'", path), world);
  }
  return RunChosen(chosen, common, world);
}

}  // namespace weir::app
