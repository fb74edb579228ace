// The verbs on tables of DynamoDB, and on the namespaces, audit events and usage of a store.
#pragma once

#include <functional>
#include <string_view>

#include "apps/weir/verbs.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/scheduler.h"
#include "weir/zae_table/dynamo_url.h"
#include "weir/zae_table/namespace/namespaces.h"

namespace weir::app {

/// A table that requests can be sent to, whether it exists or not. All members outlive the work.
struct OpenedTable {
  JsonClient& client;
  dynamo::Table& table;
  Scheduler& scheduler;
  const dynamo::DynamoUrl& url;
  dynamo::RandomBits random;
};

using TableWork = std::function<Result<Exit>(const OpenedTable&)>;
/// Connects to the table that --store or the environment names and calls the work. Blocks.
using WithTable = std::function<Result<Exit>(Context&, const TableWork&)>;

/// Returns the table of Context::Store, or kInvalidArgument if the store is not a table.
[[nodiscard]] Result<dynamo::DynamoUrl> TableUrl(Context& context);
/// Connects to the table of TableUrl.
Result<Exit> WithTableOfStore(Context& context, const TableWork& work);

/// The records of a namespace other than its limits and buckets.
struct Records {
  AuditLog& audit;
  UsageStore& usage;
  UnixMillis now;  ///< the store's time, for events
};
using RecordsWork = std::function<Result<Exit>(const Records&)>;

/// Calls the work on the namespaces, or on the records of the URL's namespace. If Context::Store
/// names a table, connects to it by `with_table`, and fails if AfterOpenCheck does; otherwise uses
/// the file or memory. Blocks.
Result<Exit> OnNamespaces(Context& context, const WithTable& with_table, Access access,
                          const Context::NamespaceWork& work);
Result<Exit> OnRecords(Context& context, const WithTable& with_table, Access access,
                       const RecordsWork& work);

/// See verbs.h. `with_table` is called when a verb runs on a table.
void AddTable(CLI::App& app, Action& chosen, const WithTable& with_table);
void AddNamespace(CLI::App& app, Action& chosen, const WithTable& with_table);
void AddAudit(CLI::App& app, Action& chosen, const WithTable& with_table);
void AddUsage(CLI::App& app, Action& chosen, const WithTable& with_table);
void AddAggregate(CLI::App& app, Action& chosen, const WithTable& with_table);

/// Creates rate-limiter-py's three tables of a `rate-limiter-py:` URL, or completes those that
/// exist in part, and prints their names. Blocks.
Result<Exit> CreateThreeTables(Context& context, const std::string& url);

/// Returns work that first checks that the table exists and that its version record admits this
/// client. Creates no table.
TableWork AfterOpenCheck(const Context& context, TableWork work);

}  // namespace weir::app
