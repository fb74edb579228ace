// Keys of tables and indexes.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <variant>

#include "weir/sim/dynamo_value.h"

namespace weir::sim {

/// The names of a key's attributes.
struct KeyNames {
  std::string partition;
  std::string sort;  ///< empty: the key has one attribute
};

/// One attribute of a key. Text is ordered by its bytes, as AWS orders it.
using KeyPart = std::variant<std::monostate, std::string, Decimal>;

struct ItemKey {
  KeyPart partition;
  KeyPart sort;  ///< std::monostate: the key has none

  friend bool operator==(const ItemKey&, const ItemKey&) = default;
  friend auto operator<=>(const ItemKey&, const ItemKey&) = default;
};

/// Nothing if it is of a type that no key may have.
std::optional<KeyPart> ToKeyPart(const Value& value);

/// Nothing if the item lacks an attribute of the key.
std::optional<ItemKey> KeyIn(const Item& item, const KeyNames& names);

/// Copies the key's attributes from `item` to `to`, those that it has.
void CopyKey(const Item& item, const KeyNames& names, Item& to);

}  // namespace weir::sim
