// What the table is made of, as a value: to create it from, and to hold a table against.
//
// Layout: zae-limiter 0.17.0, its get_table_definition (schema 0.10.0).
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
  std::string range;       ///< empty: there is none (of an index)
  std::string projection;  ///< "ALL", "KEYS_ONLY" or "INCLUDE"; empty for the table itself

  friend bool operator==(const IndexLayout&, const IndexLayout&) = default;
};

struct TableLayout {
  IndexLayout keys;
  std::map<std::string, IndexLayout> global_indexes;
  std::map<std::string, IndexLayout> local_indexes;
  std::map<std::string, std::string> key_types;  ///< of the attributes that are keys: "S", "N", "B"
  std::string billing = "PROVISIONED";           ///< or "PAY_PER_REQUEST"
  std::string stream;                            ///< what it shows; empty: there is none

  friend bool operator==(const TableLayout&, const TableLayout&) = default;
};

/// Keys PK and SK, GSI1 to GSI4, LSI1 to LSI5 (reserved: no item sets their keys), paid by request,
/// with a stream of new and old images.
const TableLayout& OurLayout();

/// The body of a CreateTable.
std::string CreateTableBody(std::string_view table, const TableLayout& layout);

/// What DescribeTable says.
struct TableDescription {
  TableLayout layout;
  std::string status;  ///< "ACTIVE", "CREATING", "UPDATING", "DELETING", ...
  std::string arn;
  std::int64_t items = 0;  ///< AWS brings these two up to date every six hours or so
  std::int64_t bytes = 0;
};

/// Reads its answer. kDataLoss for what is none.
[[nodiscard]] Result<TableDescription> ReadDescription(std::string_view body);

/// One line for each thing that is not as it should be, with what it should be; empty where nothing
/// is. What is there beyond the layout counts too.
std::vector<std::string> Differences(const TableLayout& found, const TableLayout& wanted);

}  // namespace weir::dynamo
