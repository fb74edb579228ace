#include "weir/dynamodb/table_key.h"

namespace weir::dynamo {

Item ToItem(const TableKey& key, const IndexLayout& names) {
  return {{names.hash, Of(key.pk)}, {names.range, Of(key.sk)}};
}

TableKey KeyOf(const Item& item, const IndexLayout& names) {
  const std::string* pk = GetText(item, names.hash);
  const std::string* sk = GetText(item, names.range);
  return {pk == nullptr ? "" : *pk, sk == nullptr ? "" : *sk};
}

}  // namespace weir::dynamo
