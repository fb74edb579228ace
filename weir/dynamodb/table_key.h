// The primary key of an item.
#pragma once

#include <string>

#include "weir/dynamodb/table_layout.h"
#include "weir/dynamodb/value.h"

namespace weir::dynamo {

struct TableKey {
  std::string pk;
  std::string sk;

  friend auto operator<=>(const TableKey&, const TableKey&) = default;
};

/// Returns the key as an item of two attributes, named as `names` says.
Item ToItem(const TableKey& key, const IndexLayout& names);

/// Returns the key of an item; a part is empty if the item has no such attribute.
TableKey KeyOf(const Item& item, const IndexLayout& names);

}  // namespace weir::dynamo
