// Keys of tables and indexes.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <variant>

#include "weir/sim/dynamodb/expression/dynamo_value.h"

namespace weir::sim {

/// The names of a key's attributes.
struct KeyNames {
  std::string partition;
  std::string sort;  ///< empty if the key has one attribute
};

/// The value of one key attribute. Text is ordered by its bytes, as AWS orders it.
using KeyPart = std::variant<std::monostate, std::string, Decimal>;

struct ItemKey {
  KeyPart partition;
  KeyPart sort;  ///< std::monostate if the key has no sort attribute

  friend bool operator==(const ItemKey&, const ItemKey&) = default;
  friend auto operator<=>(const ItemKey&, const ItemKey&) = default;
};

/// Returns nothing if the value has a type that a key cannot have.
std::optional<KeyPart> ToKeyPart(const Value& value);

/// Returns nothing if the item lacks an attribute of the key.
std::optional<ItemKey> KeyIn(const Item& item, const KeyNames& names);

/// Copies those attributes of the key that `item` has to `to`.
void CopyKey(const Item& item, const KeyNames& names, Item& to);

}  // namespace weir::sim
