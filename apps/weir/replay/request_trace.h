// A recorded series of requests in a CSV file with user-defined columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/model/tokens.h"

namespace weir::app {

struct TracedRequest {
  UnixMillis at;
  std::string entity;
  std::string resource;
  Amounts amounts;  ///< in the order of TraceColumns::amounts
};

/// Maps the columns of the header to the fields of a request.
struct TraceColumns {
  struct Taken {
    std::string limit;
    std::string column;  ///< or a number of tokens, the same for each request
  };
  std::string time;
  std::string entity;
  std::string resource;
  std::vector<Taken> amounts;
};

/// Parses `time=COLUMN,entity=COLUMN,resource=COLUMN,LIMIT=COLUMN|NUMBER...`. Without time, entity
/// or resource, the column of that name is used. Returns kInvalidArgument if there is no limit, or
/// one twice.
[[nodiscard]] Result<TraceColumns> ParseTraceColumns(std::string_view text);

/// Parses the rows by ParseTime, ParseTokens and the rules of identifiers. Rows are in order of
/// time; SplitCsvLine splits them. Returns at least one request, or kInvalidArgument
/// `file_name:line: problem; remedy` with the column.
[[nodiscard]] Result<std::vector<TracedRequest>> ParseRequests(std::string_view text,
                                                               std::string_view file_name,
                                                               const TraceColumns& columns);

}  // namespace weir::app
