// weir limits check|plan|apply|diff|export|import: the limits of a store, declared in one file.
#include "apps/weir/commands/limits_verbs.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/commands/reservation_verbs.h"
#include "apps/weir/commands/rules/rules_verbs.h"
#include "apps/weir/files.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"
#include "weir/model/identifier.h"
#include "weir/model/limits_file_text.h"
#include "weir/model/namespace_name.h"
#include "weir/model/parents.h"
#include "weir/model/yaml_source.h"

namespace weir::app {

Result<LimitsSource> ReadLimitsFile(const LimitsOptions& options, const Context& context) {
  WEIR_ASSIGN_OR_RETURN(std::string text,
                        ReadFileOrInput(options.file, context.process(), kMaxYamlBytes));
  WEIR_ASSIGN_OR_RETURN(LimitsFile file, ParseLimitsFile(text, NameOfInput(options.file)));
  return LimitsSource{std::move(file), std::move(text)};
}

Result<StoreContent> ReadStoreContent(const LimitsOptions& options, const LimitsFile& file,
                                      Context& context, Backend& backend) {
  WEIR_ASSIGN_OR_RETURN(LimitsScope scope, ScopeOf(context, backend));
  WEIR_RETURN_IF_ERROR(CheckScope(file, NameOfInput(options.file), scope));
  context.left_out().clear();
  WEIR_ASSIGN_OR_RETURN(Declared live, ReadDeclared(backend.config(), context.RequestDeadlines(),
                                                    &context.left_out()));
  return StoreContent{std::move(scope), std::move(live)};
}

namespace {

/// Returns the line of the file that sets the parent of `entity` or, if there is none, of the
/// nearest entity above it whose parent the file sets. `parents` are those of the file and of the
/// store. Returns 0 if the file sets no parent of these entities.
int LineOfNearestParent(const LimitsSource& source, const Parents& parents,
                        const std::string& entity) {
  const std::string* current = &entity;
  for (std::size_t i = 0; i <= parents.size(); ++i) {
    const auto in_file = source.file.entities.find(*current);
    if (in_file != source.file.entities.end() && in_file->second.parent) {
      return LineOfParent(source.text, *current);
    }
    const auto found = parents.find(*current);
    if (found == parents.end() || !found->second.parent) break;
    current = &*found->second.parent;
  }
  return 0;
}

Status CheckParents(const LimitsSource& source, const std::string& file_name, const Plan& plan,
                    const Declared& live) {
  const auto fault = ParentFaultIntroducedBy(plan, live);
  if (!fault) return {};
  const int line = LineOfNearestParent(source, ParentsAfter(plan, live), fault->entity);
  return Fail(Code::kFailedPrecondition,
              fmt::format("{}:{}: together with the parents in the store: {}", file_name, line,
                          fault->message));
}

}  // namespace

Result<ScopedPlan> MakeScopedPlan(const LimitsOptions& options, const LimitsSource& source,
                                  Context& context, Backend& backend) {
  WEIR_ASSIGN_OR_RETURN(StoreContent content,
                        ReadStoreContent(options, source.file, context, backend));
  Plan plan = MakePlan(source.file, content.live, context.process().clock.WallNow());
  WEIR_RETURN_IF_ERROR(CheckParents(source, NameOfInput(options.file), plan, content.live));
  return ScopedPlan{std::move(content.scope), std::move(plan)};
}

namespace {

bool SetsSystem(const LimitsFile& file) { return !file.system.empty() || file.on_unavailable; }

Result<Exit> CheckLimitsFile(const LimitsOptions& options, Context& context) {
  WEIR_ASSIGN_OR_RETURN(const LimitsSource source, ReadLimitsFile(options, context));
  context.WriteResult(app::ToJson(source.file),
                      fmt::format("{} is valid: namespace {}, system {}, resources {}, "
                                  "entities {}\n",
                                  NameOfInput(options.file), source.file.namespace_name,
                                  SetsSystem(source.file) ? "set" : "not set",
                                  source.file.resources.size(), source.file.entities.size()));
  return Exit::kDone;
}

Result<Exit> ShowPlan(const LimitsOptions& options, Context& context) {
  WEIR_ASSIGN_OR_RETURN(const LimitsSource source, ReadLimitsFile(options, context));
  return context.WithBackend(Access::kRead, [&](Backend& backend) -> Result<Exit> {
    WEIR_ASSIGN_OR_RETURN(const ScopedPlan planned,
                          MakeScopedPlan(options, source, context, backend));
    const auto& [scope, plan] = planned;
    context.WriteResult(WithScope(scope, app::ToJson(plan)), TextOf(scope) + '\n' + TextOf(plan));
    if (!options.detailed_exitcode) return Exit::kDone;
    // A record that cannot be read may differ.
    if (!context.IsComplete(Context::Records::kConfig)) return Exit::kFailed;
    return plan.ToApply().empty() ? Exit::kDone : Exit::kPending;
  });
}

// The exit codes of `limits diff` are those of diff(1).
constexpr Exit kDiffEqual = Exit::kDone;
constexpr Exit kDiffDifferent = Exit::kFailed;
constexpr Exit kDiffError = Exit::kUsage;

Result<Exit> DiffLimits(const LimitsOptions& options, Context& context) {
  context.failure = kDiffError;
  WEIR_ASSIGN_OR_RETURN(const LimitsSource source, ReadLimitsFile(options, context));
  return context.WithBackend(Access::kRead, [&](Backend& backend) -> Result<Exit> {
    WEIR_ASSIGN_OR_RETURN(const StoreContent content,
                          ReadStoreContent(options, source.file, context, backend));
    const std::vector<Difference> differences = Differences(source.file, content.live);
    const bool is_complete = context.IsComplete(Context::Records::kConfig);
    const bool are_equal = differences.empty() && is_complete;
    context.WriteResult(
        WithScope(content.scope, app::ToJson(differences)),
        TextOf(content.scope) + '\n' +
            (are_equal ? "the store and the file are equal\n" : TextOf(differences)));
    if (!is_complete) return kDiffError;
    return are_equal ? kDiffEqual : kDiffDifferent;
  });
}

/// Returns the namespace that an exported file names: that of --namespace, else that of the store.
std::string NamespaceOfExport(const LimitsOptions& options, const LimitsScope& scope) {
  if (options.namespace_name) return *options.namespace_name;
  return scope.namespace_name.empty() ? kDefaultNamespace : scope.namespace_name;
}

tl::unexpected<Error> NotWritten(const std::string& file,
                                 const std::vector<std::string>& left_out) {
  return Fail(Code::kFailedPrecondition,
              fmt::format("{} is not written: {} records cannot be read, the first: {}; omit "
                          "FILE to print the other records",
                          file, left_out.size(), left_out.front()));
}

/// Returns the text that `export` writes: JSON with --json, else YAML.
Result<std::string> ExportText(const LimitsFile& file, const Context& context) {
  if (!context.common().json) return FormatLimitsFile(file);
  std::string text = app::ToJson(file).dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  if (text.size() < kMaxBytesWithoutEvent) return text;
  return Fail(
      Code::kFailedPrecondition,
      fmt::format("the limits are {} bytes as JSON, and a JSON file can be read back only if it "
                  "has less than {} bytes; omit --json to write YAML",
                  text.size(), kMaxBytesWithoutEvent));
}

Result<Exit> ExportToFile(const LimitsFile& file, const LimitsOptions& options, Context& context) {
  // If the file lacked the unreadable records, applying it later would delete them.
  if (!context.IsComplete(Context::Records::kConfig)) {
    return NotWritten(options.file, context.AllLeftOut());
  }
  WEIR_ASSIGN_OR_RETURN(const std::string text, ExportText(file, context));
  WEIR_RETURN_IF_ERROR(WriteFile(options.file, text));
  context.WriteResult({{"wrote", options.file}}, "wrote " + options.file);
  return Exit::kDone;
}

Result<Exit> ExportLimits(const LimitsOptions& options, Context& context) {
  if (!options.force) WEIR_RETURN_IF_ERROR(CheckNew(options.file));
  return context.WithBackend(Access::kRead, [&](Backend& backend) -> Result<Exit> {
    WEIR_ASSIGN_OR_RETURN(const LimitsScope scope, ScopeOf(context, backend));
    WEIR_ASSIGN_OR_RETURN(
        const Declared live,
        ReadDeclared(backend.config(), context.RequestDeadlines(), &context.left_out()));
    const LimitsFile file = FileOf(live, NamespaceOfExport(options, scope));
    const bool to_file = !options.file.empty() && options.file != kStandardStream;
    if (to_file) return ExportToFile(file, options, context);
    context.WriteResult(app::ToJson(file), FormatLimitsFile(file));
    return context.IsComplete(Context::Records::kConfig) ? Exit::kDone : Exit::kFailed;
  });
}

using LimitsHandler = Result<Exit> (*)(const LimitsOptions&, Context&);

struct FileVerb {
  std::string name;
  std::string description;
  LimitsHandler handler;
};

CLI::App& AddVerbForFile(CLI::App& group, const FileVerb& file_verb,
                         const std::shared_ptr<LimitsOptions>& options, Action& chosen) {
  CLI::App& verb =
      AddVerb(group, file_verb.name, file_verb.description, options, chosen, file_verb.handler);
  verb.add_option("FILE,-f,--file", options->file,
                  "the limits file (YAML or JSON), - for standard input")
      ->required()
      ->option_text(" ");
  return verb;
}

void AddPlan(CLI::App& group, Action& chosen) {
  const auto options = std::make_shared<LimitsOptions>();
  CLI::App& verb =
      AddVerbForFile(group, {"plan", "Show the changes that 'limits apply' would make", ShowPlan},
                     options, chosen);
  verb.add_flag("--detailed-exitcode", options->detailed_exitcode,
                "exit with 4 if 'limits apply' would make changes");
  verb.footer("Exit codes: 0 done, 1 failed, 2 bad usage; with --detailed-exitcode also 4.");
}

void AddExport(CLI::App& group, Action& chosen) {
  auto options = std::make_shared<LimitsOptions>();
  CLI::App& verb =
      AddVerb(group, "export", "Write a limits file with all limits and parents of the store",
              options, chosen, ExportLimits);
  verb.add_option("FILE,-f,--file", options->file,
                  "the file to create (default: -, standard output)")
      ->option_text(" ");
  AddParsed(verb, "--namespace", options->namespace_name, Checked(CheckNamespace),
            "the namespace that the file names (default: the namespace of the store)")
      ->option_text("NAME");
  verb.add_flag("--force", options->force, "overwrite the file if it exists");
}

}  // namespace

void AddLimits(CLI::App& app, Action& chosen, const WithReservations& with_reservations) {
  CLI::App& group = AddGroup(app, "limits", "All limits of a store, declared in one file");
  const auto options = [] { return std::make_shared<LimitsOptions>(); };
  AddVerbForFile(
      group, {"check", "Check that the file is valid, without opening a store", CheckLimitsFile},
      options(), chosen);
  AddPlan(group, chosen);
  const auto to_apply = options();
  AddVerbForFile(
      group,
      {"apply", "Change the store to match the file; on a table, many changes are made in parts",
       ApplyLimits},
      to_apply, chosen)
      .add_flag("--yes", to_apply->yes,
                "without asking, delete records of earlier limits files that this file does not "
                "contain");
  AddVerbForFile(group, {"diff", "Compare the file with the store, field by field", DiffLimits},
                 options(), chosen)
      .footer("Exit codes: 0 equal, 1 different, 2 failed.");
  AddExport(group, chosen);
  AddLimitsImport(group, chosen);
  AddLimitsLoad(group, chosen, with_reservations);
}

}  // namespace weir::app
