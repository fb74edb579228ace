// weir table create for rate-limiter-py's three tables.
#include <fmt/format.h>

#include <memory>

#include "apps/weir/commands/table_verbs.h"
#include "apps/weir/context.h"
#include "apps/weir/terminal/json.h"
#include "weir/rate_limiter_py/make_tables.h"
#include "weir/rate_limiter_py/tables_url.h"
#include "weir/runtime/await.h"
#include "weir/zae_table/connection.h"

namespace weir::app {
namespace {

using rate_limiter_py::TablesMade;
using rate_limiter_py::TablesUrl;

constexpr std::chrono::minutes kPatience{10};

void RespondWith(Context& context, const rate_limiter_py::TableNames& names,
                 const TablesMade& made) {
  Json json;
  std::string text;
  const auto add = [&](const char* key, const std::string& name,
                       const dynamo::TableCreated& table) {
    json[key] = {{"table", name}, {"created", table.created}};
    text += fmt::format("{} table {}\n", table.created ? "created" : "completed", name);
  };
  add("tokens", names.tokens, made.tokens);
  add("limits", names.limits, made.limits);
  add("slots", names.slots, made.slots);
  context.WriteResult(json, text);
}

Result<std::unique_ptr<dynamo::Connection>> ConnectTo(Context& context, const TablesUrl& where) {
  const dynamo::DynamoUrl service{
      .table = where.names.slots, .region = where.region, .endpoint = where.endpoint};
  return dynamo::Connection::Open(service, context.process().clock,
                                  HostEnvironmentOf(context.process()), &context.log());
}

// A wrong URL and wrong settings of AWS are usage errors.
Error OfUsage(Context& context, Error error) {
  if (error.code == Code::kInvalidArgument) context.failure = Exit::kUsage;
  return context.OfStore(std::move(error));
}

}  // namespace

Result<Exit> CreateThreeTables(Context& context, const std::string& url) {
  const auto where = rate_limiter_py::ParseTablesUrl(url, context.process().environment);
  if (!where) return Fail(OfUsage(context, where.error()));
  const auto connection = ConnectTo(context, *where);
  if (!connection) return Fail(OfUsage(context, connection.error()));
  Scheduler& scheduler = (*connection)->scheduler();
  rate_limiter_py::Tables tables((*connection)->client(), scheduler, where->names,
                                 dynamo::Connection::Random()());
  WEIR_ASSIGN_OR_RETURN(const TablesMade made, Await<TablesMade>([&](auto done) {
                          MakeTables(tables, scheduler, context.StoreDeadline(kPatience),
                                     std::move(done));
                        }));
  RespondWith(context, where->names, made);
  return Exit::kDone;
}

}  // namespace weir::app
