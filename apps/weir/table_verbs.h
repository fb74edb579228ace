// The verbs on a table of DynamoDB, for which --store names no backend but the table itself.
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
  dynamo::Table& table;
  Scheduler& scheduler;
  const dynamo::DynamoUrl& url;
  dynamo::RandomBits random;
};

/// Connects to the table that --store or the environment names, and works with it. Blocks.
using TableWork = std::function<Result<Exit>(const OpenedTable&)>;
using WithTable = std::function<Result<Exit>(Context&, const TableWork&)>;

/// The table of --store or WEIR_STORE, and where neither names one, of ZAEL_STACK. kInvalidArgument
/// where they name a store that is none.
Result<Exit> WithTableOfStore(Context& context, const TableWork& work);

/// As verbs.h says. `with_table` is called when a verb runs.
void AddTable(CLI::App& app, Action& chosen, const WithTable& with_table);
void AddNamespace(CLI::App& app, Action& chosen, const WithTable& with_table);
void AddAudit(CLI::App& app, Action& chosen, const WithTable& with_table);

/// For what cannot be undone: a usage error that names it, unless `yes`.
[[nodiscard]] Status NeedsYes(bool yes, Context& context, std::string_view what);

/// Work on a table that is there and meant for this client: checked first, never created.
TableWork AfterOpenCheck(const Context& context, TableWork work);

}  // namespace weir::app
