// weir table check|upgrade: the schema of a table, and its migration to the present one.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "apps/weir/arguments.h"
#include "apps/weir/commands/group/group_verbs.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "weir/runtime/await.h"
#include "weir/zae_table/migration/table_survey.h"
#include "weir/zae_table/table_admin.h"

namespace weir::app {
namespace {

using dynamo::BoundedLines;
using dynamo::SurveyLines;
using dynamo::TableAdmin;
using dynamo::TableSurvey;
using dynamo::UpgradeReport;

constexpr std::chrono::minutes kSurveyWait{5};
constexpr std::uint64_t kMaxSurveyed = 100'000'000;

struct CheckOptions {
  std::uint64_t items = 10'000;
};
struct UpgradeOptions {
  bool dry_run = false;
  bool no_aggregator = false;
};

std::string Indented(std::string_view heading, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string text = fmt::format("{}\n", heading);
  for (const std::string& line : lines) text += fmt::format("  {}\n", line);
  return text;
}

std::string TextOf(const std::string& table, const TableSurvey& survey, const SurveyLines& lines) {
  std::string text;
  for (const std::string& line : lines.differences) text += line + '\n';
  if (lines.differences.empty()) {
    text = fmt::format("table {} is as it should be{}\n", table,
                       survey.contents.complete
                           ? ""
                           : fmt::format(" in the {} items read", survey.contents.scanned));
  }
  return text + Indented("an upgrade would make these migrations:", lines.upgrade) +
         Indented("also seen:", lines.notes);
}

Json ToJson(const std::string& table, const TableSurvey& survey, const SurveyLines& lines) {
  const auto& version = survey.status.version;
  return {{"table", table},
          {"differences", lines.differences},
          {"schema", version ? Json(version->schema) : Json()},
          {"client_min", version ? Json(version->client_min) : Json()},
          {"upgrade", lines.upgrade},
          {"legacy_limits", survey.contents.legacy_limits},
          {"unread_limits", survey.contents.unread_limits},
          {"legacy_buckets", survey.contents.legacy_buckets},
          {"without_namespace", survey.contents.no_namespace},
          {"notes", lines.notes},
          {"scanned", survey.contents.scanned},
          {"scanned_all", survey.contents.complete}};
}

Result<Exit> CheckTable(const CheckOptions& options, Context& context, const OpenedTable& opened) {
  TableAdmin admin(opened.table, opened.scheduler);
  WEIR_ASSIGN_OR_RETURN(const TableSurvey survey, Await<TableSurvey>([&](auto done) {
                          admin.Survey(options.items, context.StoreDeadline(kSurveyWait),
                                       std::move(done));
                        }));
  const SurveyLines lines = LinesOf(survey);
  const std::string& name = opened.table.name();
  context.WriteResult(ToJson(name, survey, lines), TextOf(name, survey, lines));
  return lines.differences.empty() ? Exit::kDone : Exit::kPending;
}

Json ToJson(const BoundedLines& lines) {
  return {{"lines", lines.lines()}, {"omitted", lines.omitted()}};
}

std::string LinesOf(const BoundedLines& lines) {
  std::string text;
  for (const std::string& line : lines.lines()) text += line + '\n';
  if (lines.omitted() > 0) text += fmt::format("and {} more\n", lines.omitted());
  return text;
}

Json ToJson(const UpgradeReport& report, const std::string& table, bool dry_run) {
  return {{"table", table},
          {"dry_run", dry_run},
          {"from", report.from},
          {"sets_version", report.sets_version},
          {"removed_aggregator", report.aggregator.empty() ? Json() : Json(report.aggregator)},
          {"levels", report.levels},
          {"conflicts", report.conflicts},
          {"removed", report.removed},
          {"unread", report.unread},
          {"migrated", ToJson(report.done)},
          {"differences", ToJson(report.differences)},
          {"problems", ToJson(report.problems)},
          {"error", report.ended ? Json(report.ended->message) : Json()}};
}

std::string TextOf(const UpgradeReport& report, const std::string& table, bool dry_run) {
  const std::string_view would = dry_run ? "would be " : "";
  std::string text = LinesOf(report.done) + LinesOf(report.differences) + LinesOf(report.problems);
  text += fmt::format("{} levels {}migrated, {} levels had limits already, {} items {}removed\n",
                      report.levels, would, report.conflicts, report.removed, would);
  if (report.unread > 0) {
    text += fmt::format("{} items have the sort key of a limit but name no limit; they stay\n",
                        report.unread);
  }
  if (!report.aggregator.empty()) {
    text += fmt::format("version {} of the aggregator {}removed from table {}\n", report.aggregator,
                        would, table);
  }
  if (!report.sets_version)
    return text + fmt::format("table {} has schema {}\n", table, report.from);
  return text + fmt::format("schema {} of table {} {}replaced by {}\n", report.from, table, would,
                            dynamo::kSchemaVersion);
}

Result<Exit> UpgradeTable(const UpgradeOptions& options, Context& context,
                          const OpenedTable& opened) {
  TableAdmin admin(opened.table, opened.scheduler);
  dynamo::UpgradeRequest request{
      .dry_run = options.dry_run, .clears_aggregator = options.no_aggregator, .by = "weir"};
  request.sources.now = [&] { return opened.table.Now(); };
  request.sources.random = opened.random;
  if (!options.dry_run) {
    WEIR_ASSIGN_OR_RETURN(request.sources.principal, context.Principal());
  }
  WEIR_ASSIGN_OR_RETURN(const UpgradeReport report, Await<UpgradeReport>([&](auto done) {
                          admin.Upgrade(std::move(request), context.RequestDeadlines(),
                                        std::move(done));
                        }));
  const std::string& name = opened.table.name();
  context.WriteResult(ToJson(report, name, options.dry_run), TextOf(report, name, options.dry_run));
  if (report.ended) {
    context.Warn(fmt::format("{}: the upgrade ended early, after the reported changes: {}", name,
                             report.ended->message));
    return Exit::kFailed;
  }
  if (report.problems.empty()) return Exit::kDone;
  context.Warn(
      fmt::format("{}: some limits cannot be migrated, so its schema stays {}: correct or "
                  "delete their items, and run the upgrade again",
                  name, report.from));
  return Exit::kFailed;
}

}  // namespace

void AddTableUpgrade(CLI::App& group, Action& chosen, const WithTable& with_table) {
  const auto check = std::make_shared<CheckOptions>();
  CLI::App& check_verb = AddVerb(
      group, "check", "Report the differences from a table that 'table create' makes", check,
      chosen, [with_table](const CheckOptions& given, Context& context) -> Result<Exit> {
        return with_table(
            context, [&](const OpenedTable& opened) { return CheckTable(given, context, opened); });
      });
  AddParsed(
      check_verb, "--items", check->items,
      [](const std::string& text) { return ParseIntegerInRange(text, 0, kMaxSurveyed); },
      "maximum number of items to read in search of limits of earlier schemas (default: 10000)")
      ->option_text("N");
  check_verb.footer("Exit codes: 0 equal, 1 failed, 2 bad usage, 4 the table differs.");
  const auto upgrade = std::make_shared<UpgradeOptions>();
  CLI::App& upgrade_verb =
      AddVerb(group, "upgrade", "Migrate the table from an earlier schema of zae-limiter", upgrade,
              chosen, [with_table](const UpgradeOptions& given, Context& context) -> Result<Exit> {
                return with_table(context, [&](const OpenedTable& opened) {
                  return UpgradeTable(given, context, opened);
                });
              });
  upgrade_verb.add_flag("--dry-run", upgrade->dry_run, "only report what would be done");
  upgrade_verb.add_flag(
      "--no-zae-aggregator", upgrade->no_aggregator,
      "remove the version of zae-limiter's aggregator from the version record; only for a "
      "table whose aggregator no longer runs");
}

}  // namespace weir::app
