// The keys, indexes and billing of a table: to create a table, and to compare a table with them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"

namespace weir::dynamo {

struct IndexLayout {
  std::string hash;
  std::string range;       ///< empty: the index has no sort key
  std::string projection;  ///< "ALL", "KEYS_ONLY" or "INCLUDE"; empty for the table itself

  friend bool operator==(const IndexLayout&, const IndexLayout&) = default;
};

struct TableLayout {
  IndexLayout keys;
  std::map<std::string, IndexLayout> global_indexes;
  std::map<std::string, IndexLayout> local_indexes;
  std::map<std::string, std::string> key_types;  ///< the types of the key attributes: "S", "N", "B"
  std::string billing = "PROVISIONED";           ///< or "PAY_PER_REQUEST"
  std::string stream;                            ///< the stream's view type; empty: no stream

  friend bool operator==(const TableLayout&, const TableLayout&) = default;
};

/// Returns the body of a CreateTable.
std::string CreateTableBody(std::string_view table, const TableLayout& layout);

/// The contents of a response of DescribeTable.
struct TableDescription {
  TableLayout layout;
  std::string status;  ///< "ACTIVE", "CREATING", "UPDATING", "DELETING", ...
  std::string arn;
  std::string stream_arn;  ///< LatestStreamArn; empty: the table never had a stream
  std::int64_t items = 0;  ///< AWS updates items and bytes about every six hours
  std::int64_t bytes = 0;
};

/// Parses a response of DescribeTable. Returns kUnknown for any other body.
[[nodiscard]] Result<TableDescription> ReadDescription(std::string_view body);

/// Returns one line for each difference, with the wanted value; none if there is no difference. An
/// index that is not in the wanted layout is a difference too.
std::vector<std::string> Differences(const TableLayout& found, const TableLayout& wanted);

}  // namespace weir::dynamo
