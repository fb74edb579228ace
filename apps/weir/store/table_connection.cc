// Opens the table or file of the verbs on namespaces and their records.
#include <fmt/format.h>

#include <memory>

#include "apps/weir/commands/table_verbs.h"
#include "apps/weir/context.h"
#include "weir/rate_limiter_py/tables_url.h"
#include "weir/runtime/await.h"
#include "weir/zae_table/connection.h"
#include "weir/zae_table/records/audit.h"
#include "weir/zae_table/records/usage.h"

namespace weir::app {
namespace {

constexpr std::string_view kScheme = "dynamodb:";

bool IsTable(const Context& context) {
  const Result<StoreChoice> choice = context.Store();
  return choice && choice->url.starts_with(kScheme);
}

Result<Exit> OnRecordsOf(Context& context, const OpenedTable& opened, const RecordsWork& work) {
  dynamo::Namespaces spaces(opened.table, context.process().clock, opened.random);
  WEIR_ASSIGN_OR_RETURN(const std::string id, Await<std::string>([&](auto done) {
                          spaces.Resolve(opened.url.namespace_name, context.StoreDeadline(),
                                         std::move(done));
                        }));
  dynamo::AuditTrail audit(opened.table, dynamo::Keys(id));
  dynamo::UsageTable usage(opened.table, dynamo::Keys(id));
  return work({audit, usage, opened.table.Now()});
}

}  // namespace

Result<dynamo::DynamoUrl> TableUrl(Context& context) {
  WEIR_ASSIGN_OR_RETURN(const StoreChoice choice, context.Store());
  if (!choice.url.starts_with(kScheme)) {
    const bool is_three = choice.url.starts_with(rate_limiter_py::kUrlScheme);
    return Fail(
        Code::kInvalidArgument,
        fmt::format("store '{}' is {}: name a table of zae-limiter with --store dynamodb://TABLE",
                    choice.url,
                    is_three ? "rate-limiter-py's three tables, which only 'table create' works on"
                             : "not a table of DynamoDB"));
  }
  return dynamo::ParseDynamoUrl(choice.url, context.process().environment);
}

Result<Exit> OnNamespaces(Context& context, const WithTable& with_table, Access access,
                          const Context::NamespaceWork& work) {
  if (!IsTable(context)) return context.WithNamespaces(access, work);
  const TableWork on_table = [&](const OpenedTable& opened) {
    dynamo::Namespaces spaces(opened.table, context.process().clock, opened.random);
    return work(spaces);
  };
  return with_table(context, AfterOpenCheck(context, on_table));
}

Result<Exit> OnRecords(Context& context, const WithTable& with_table, Access access,
                       const RecordsWork& work) {
  if (!IsTable(context)) {
    return context.WithBackend(access, [&](Backend& backend) {
      return work({backend.audit(), backend.usage(), backend.buckets().Now()});
    });
  }
  const TableWork on_table = [&](const OpenedTable& opened) {
    return OnRecordsOf(context, opened, work);
  };
  return with_table(context, AfterOpenCheck(context, on_table));
}

Result<Exit> WithTableOfStore(Context& context, const TableWork& work) {
  const Result<dynamo::DynamoUrl> url = TableUrl(context);
  if (!url) {
    context.failure = Exit::kUsage;
    return Fail(context.OfStore(url.error()));
  }
  const auto opened = dynamo::Connection::Open(
      *url, context.process().clock, HostEnvironmentOf(context.process()), &context.log());
  if (!opened) {
    // Errors of a URL or of AWS's settings are usage errors, like those of OpenBackend.
    if (opened.error().code == Code::kInvalidArgument) context.failure = Exit::kUsage;
    return Fail(context.OfStore(opened.error()));
  }
  const std::unique_ptr<dynamo::Connection>& connection = *opened;
  return work({.client = connection->client(),
               .table = connection->table(),
               .scheduler = connection->scheduler(),
               .url = connection->url(),
               .random = dynamo::Connection::Random()});
}

}  // namespace weir::app
