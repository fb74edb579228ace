// weir table create|status|delete; the group of check and upgrade.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "apps/weir/commands/group/group_verbs.h"
#include "apps/weir/commands/table_verbs.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/confirm.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"
#include "weir/rate_limiter_py/tables_url.h"
#include "weir/runtime/await.h"
#include "weir/zae_table/table_admin.h"

namespace weir::app {
namespace {

using dynamo::TableAdmin;
using dynamo::TableCreated;
using dynamo::TableStatus;
using dynamo::VersionInfo;

constexpr std::chrono::minutes kCreationWait{10};

struct TableOptions {
  bool yes = false;
};

Json ToJson(const VersionInfo& version) {
  return {{"schema", version.schema},
          {"client_min", version.client_min},
          {"lambda", version.lambda ? Json(*version.lambda) : Json()},
          {"updated_at", version.updated_at ? Json(FormatTime(*version.updated_at)) : Json()},
          {"updated_by", version.updated_by ? Json(*version.updated_by) : Json()}};
}

Json ToJson(const TableStatus& status, const std::string& table) {
  return {{"table", table},
          {"status", status.table.status},
          {"arn", status.table.arn},
          {"items", status.table.items},
          {"bytes", status.table.bytes},
          {"time_to_live", Name(status.time_to_live)},
          {"recovery", Name(status.recovery)},
          {"version", status.version ? ToJson(*status.version) : Json()}};
}

std::string TextOf(const TableStatus& status, const std::string& table) {
  std::string text = fmt::format(
      "table         {}\nstatus        {}\nitems         {}\nbytes         {}\n"
      "time to live  {}\nrecovery      {}\n",
      table, status.table.status, status.table.items, status.table.bytes, Name(status.time_to_live),
      Name(status.recovery));
  if (!status.version) return text + "schema        no version record\n";
  return text + fmt::format("schema        {}\nmin client    {}\naggregator    {}\n",
                            status.version->schema, status.version->client_min,
                            status.version->lambda.value_or("-"));
}

Result<Exit> CreateTable(Context& context, const OpenedTable& opened) {
  TableAdmin admin(opened.table, opened.scheduler);
  WEIR_ASSIGN_OR_RETURN(const TableCreated created, Await<TableCreated>([&](auto done) {
                          admin.Create("weir", context.StoreDeadline(kCreationWait),
                                       std::move(done));
                        }));
  const std::string& name = opened.table.name();
  context.WriteResult({{"table", name},
                       {"created", created.created},
                       {"time_to_live", Name(created.time_to_live)},
                       {"recovery", Name(created.recovery)},
                       {"wrote_version", created.wrote_version}},
                      fmt::format("{} table {}\ntime to live  {}\nrecovery      {}\n",
                                  created.created ? "created" : "completed", name,
                                  Name(created.time_to_live), Name(created.recovery)));
  return Exit::kDone;
}

Result<Exit> ShowStatus(Context& context, const OpenedTable& opened) {
  TableAdmin admin(opened.table, opened.scheduler);
  WEIR_ASSIGN_OR_RETURN(const TableStatus status, Await<TableStatus>([&](auto done) {
                          admin.ReadStatus(context.StoreDeadline(), std::move(done));
                        }));
  const std::string& name = opened.table.name();
  context.WriteResult(ToJson(status, name), TextOf(status, name));
  return Exit::kDone;
}

Result<Exit> DeleteTable(Context& context, const OpenedTable& opened) {
  const std::string& name = opened.table.name();
  TableAdmin admin(opened.table, opened.scheduler);
  WEIR_RETURN_IF_ERROR(
      Await<void>([&](auto done) { admin.Delete(context.StoreDeadline(), std::move(done)); }));
  context.WriteResult({{"deleted", name}}, "deleted table " + name);
  return Exit::kDone;
}

std::string LossOf(const dynamo::DynamoUrl& url) {
  const std::string at = url.endpoint.empty() ? "" : " at " + url.endpoint;
  const std::string in = url.region.empty() ? "" : " in " + url.region;
  return fmt::format("deletes table {}{}{} with all its namespaces", url.table, in, at);
}

using TableVerb = Result<Exit> (*)(Context&, const OpenedTable&);

}  // namespace

TableWork AfterOpenCheck(const Context& context, TableWork work) {
  return [&context, work = std::move(work)](const OpenedTable& opened) -> Result<Exit> {
    WEIR_RETURN_IF_ERROR(Await<VersionInfo>([&](auto done) {
      dynamo::OpenCheck(opened.table, context.StoreDeadline(), std::move(done));
    }));
    return work(opened);
  };
}

void AddTable(CLI::App& app, Action& chosen, const WithTable& with_table) {
  CLI::App& group = AddGroup(app, "table", "The table in DynamoDB that --store names");
  const auto add = [&](const std::string& name, const std::string& what, TableVerb run,
                       const std::shared_ptr<TableOptions>& options) -> CLI::App& {
    return AddVerb(group, name, what, options, chosen,
                   [run, with_table](const TableOptions& given, Context& context) -> Result<Exit> {
                     if (!given.yes) {
                       WEIR_ASSIGN_OR_RETURN(const dynamo::DynamoUrl url, TableUrl(context));
                       WEIR_RETURN_IF_ERROR(NeedsYes(context, LossOf(url)));
                     }
                     return with_table(
                         context, [&](const OpenedTable& opened) { return run(context, opened); });
                   });
  };
  const auto harmless = std::make_shared<TableOptions>(TableOptions{.yes = true});
  AddVerb(
      group, "create",
      "Create the table, or complete a partial one; for rate-limiter-py://BASE, its three tables",
      harmless, chosen, [with_table](const TableOptions&, Context& context) -> Result<Exit> {
        WEIR_ASSIGN_OR_RETURN(const StoreChoice choice, context.Store());
        if (choice.url.starts_with(rate_limiter_py::kUrlScheme)) {
          return CreateThreeTables(context, choice.url);
        }
        return with_table(context,
                          [&](const OpenedTable& opened) { return CreateTable(context, opened); });
      });
  add("status", "Show DynamoDB's description of the table", ShowStatus, harmless);
  AddTableUpgrade(group, chosen, with_table);
  const auto options = std::make_shared<TableOptions>();
  add("delete", "Delete the table with everything in it", DeleteTable, options)
      .add_flag("--yes", options->yes, "delete without asking");
}

}  // namespace weir::app
