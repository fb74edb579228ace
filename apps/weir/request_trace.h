// A recorded series of requests, in a CSV file with columns of the user's own.
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

/// Which column of the header holds what.
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

/// Reads `time=COLUMN,entity=COLUMN,resource=COLUMN,LIMIT=COLUMN|NUMBER...`;
/// without time, entity or resource, the column has that name.
/// kInvalidArgument: no limit, or one twice.
[[nodiscard]] Result<TraceColumns> ParseTraceColumns(std::string_view text);

/// As ParseTime, ParseTokens and the rules of identifiers say, in order of
/// time, no field quoted. kInvalidArgument `file_name:line: what; what would be
/// right`, naming the column. At least one request.
[[nodiscard]] Result<std::vector<TracedRequest>> ParseRequests(std::string_view text,
                                                               std::string_view file_name,
                                                               const TraceColumns& columns);

}  // namespace weir::app
