#include "weir/zae_table/zae_layout.h"

#include <fmt/format.h>

#include <string>

namespace weir::dynamo {
namespace {

constexpr char kAll[] = "ALL";
constexpr char kKeysOnly[] = "KEYS_ONLY";

TableLayout MakeLayout() {
  TableLayout layout;
  layout.keys = {"PK", "SK", ""};
  for (int i = 1; i <= 4; ++i) {
    const std::string name = fmt::format("GSI{}", i);
    layout.global_indexes[name] = {name + "PK", name + "SK", i <= 2 ? kAll : kKeysOnly};
  }
  for (int i = 1; i <= 5; ++i) {
    const std::string name = fmt::format("LSI{}", i);
    layout.local_indexes[name] = {"PK", name + "SK", i % 2 == 1 ? kAll : kKeysOnly};
  }
  const auto add_keys = [&](const IndexLayout& index) {
    layout.key_types[index.hash] = "S";
    layout.key_types[index.range] = "S";
  };
  add_keys(layout.keys);
  for (const auto& [name, index] : layout.global_indexes) add_keys(index);
  for (const auto& [name, index] : layout.local_indexes) add_keys(index);
  layout.billing = "PAY_PER_REQUEST";
  layout.stream = "NEW_AND_OLD_IMAGES";
  return layout;
}

}  // namespace

const TableLayout& ZaeLayout() {
  static const TableLayout layout = MakeLayout();
  return layout;
}

}  // namespace weir::dynamo
