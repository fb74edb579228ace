// The verbs for which --store names no backend but a place with namespaces: a table of DynamoDB, or
// a file.
#pragma once

#include <functional>
#include <string_view>

#include "apps/weir/verbs.h"
#include "weir/dynamo/dynamo_url.h"
#include "weir/dynamo/namespaces.h"
#include "weir/dynamo/table.h"
#include "weir/runtime/scheduler.h"

namespace weir::app {

/// A table that calls can be made to, whether it exists or not. All of it outlives the work.
struct OpenedTable {
  JsonClient& client;
  dynamo::Table& table;
  Scheduler& scheduler;
  const dynamo::DynamoUrl& url;
  dynamo::RandomBits random;
};

/// Connects to the table that --store or the environment names, and works with it. Blocks.
using TableWork = std::function<Result<Exit>(const OpenedTable&)>;
using WithTable = std::function<Result<Exit>(Context&, const TableWork&)>;

/// The table that Context::Store names. kInvalidArgument if the store is no table.
[[nodiscard]] Result<dynamo::DynamoUrl> TableUrl(Context& context);
/// Connects to it.
Result<Exit> WithTableOfStore(Context& context, const TableWork& work);

/// What is kept of one namespace beside its limits and buckets.
struct Records {
  AuditLog& audit;
  UsageStore& usage;
};
using RecordsWork = std::function<Result<Exit>(const Records&)>;

/// If Context::Store names a table: works on that by `with_table`, checked first and never created.
/// Else on the file or the memory. Records are those of the namespace that is named. Blocks.
Result<Exit> OnNamespaces(Context& context, const WithTable& with_table, Access access,
                          const Context::NamespaceWork& work);
Result<Exit> OnRecords(Context& context, const WithTable& with_table, const RecordsWork& work);

/// As verbs.h says. `with_table` is called when a verb runs on a table.
void AddTable(CLI::App& app, Action& chosen, const WithTable& with_table);
void AddNamespace(CLI::App& app, Action& chosen, const WithTable& with_table);
void AddAudit(CLI::App& app, Action& chosen, const WithTable& with_table);
void AddUsage(CLI::App& app, Action& chosen, const WithTable& with_table);

/// Creates rate-limiter-py's three tables of a `rate-limiter-py:` URL, or completes those that were
/// begun, and answers with their names. Blocks.
Result<Exit> CreateThreeTables(Context& context, const std::string& url);

/// Work on a table that is there and meant for this client: checked first, never created.
TableWork AfterOpenCheck(const Context& context, TableWork work);

}  // namespace weir::app
