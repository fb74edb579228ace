#include "weir/zae_table/migration/table_survey.h"

#include <fmt/format.h>

#include "weir/zae_table/migration/schema_migrations.h"

namespace weir::dynamo {
namespace {

// DynamoDB adds local indexes only when it creates the table.
std::string Explained(std::string line) {
  if (!line.starts_with("local index")) return line;
  return line + " (it cannot be added to a table that exists; no client needs it)";
}

void AddItems(const TableContents& contents, SurveyLines& lines) {
  if (contents.legacy_limits > 0) {
    lines.differences.push_back(fmt::format(
        "{} limits in items from before 0.8, which no client reads: 'weir table upgrade' "
        "migrates them",
        contents.legacy_limits));
  }
  if (contents.no_namespace > 0) {
    lines.differences.push_back(fmt::format(
        "{} items with keys from before namespaces, which no client reads: move them with "
        "zae-limiter's script for namespaces, and then run 'weir table upgrade'",
        contents.no_namespace));
  }
  if (contents.legacy_buckets > 0) {
    lines.notes.push_back(fmt::format(
        "{} buckets from before 0.9, which no client reads: they expire if time to live "
        "is on",
        contents.legacy_buckets));
  }
  if (contents.unread_limits > 0) {
    lines.notes.push_back(
        fmt::format("{} items have the sort key of a limit from before 0.8 and "
                    "name no limit: an upgrade leaves them",
                    contents.unread_limits));
  }
  for (const std::string& line : contents.unreadable.lines()) lines.notes.push_back(line);
  if (contents.unreadable.omitted() > 0) {
    lines.notes.push_back(
        fmt::format("{} more items that weir does not read", contents.unreadable.omitted()));
  }
  if (contents.complete) return;
  lines.notes.push_back(
      fmt::format("only {} items were read, the table may have more", contents.scanned));
}

void AddUpgrade(const TableSurvey& survey, SurveyLines& lines) {
  if (!survey.status.version) return;
  const auto migrations = MigrationsFrom(survey.status.version->schema);
  if (!migrations) return lines.upgrade.push_back(migrations.error().message);
  for (const SchemaMigration& migration : *migrations) {
    lines.upgrade.push_back(fmt::format("{}: {}", migration.version, migration.what));
  }
}

}  // namespace

SurveyLines LinesOf(const TableSurvey& survey) {
  SurveyLines lines;
  for (std::string& line : Shortcomings(survey.status)) {
    lines.differences.push_back(Explained(std::move(line)));
  }
  AddItems(survey.contents, lines);
  AddUpgrade(survey, lines);
  return lines;
}

}  // namespace weir::dynamo
