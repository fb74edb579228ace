#include "weir/sim/dynamodb/expression/dynamo_key.h"

namespace weir::sim {

std::optional<KeyPart> ToKeyPart(const Value& value) {
  if (const auto* text = value.As<std::string>()) return *text;
  if (const auto* number = value.As<Decimal>()) return *number;
  return std::nullopt;
}

std::optional<ItemKey> KeyIn(const Item& item, const KeyNames& names) {
  const auto part = [&item](const std::string& name) -> std::optional<KeyPart> {
    const auto found = item.find(name);
    return found == item.end() ? std::nullopt : ToKeyPart(found->second);
  };
  const auto partition = part(names.partition);
  const auto sort = names.sort.empty() ? KeyPart() : part(names.sort);
  if (!partition || !sort) return std::nullopt;
  return ItemKey{*partition, *sort};
}

void CopyKey(const Item& item, const KeyNames& names, Item& to) {
  for (const std::string& name : {names.partition, names.sort}) {
    const auto found = item.find(name);
    if (found != item.end()) to.insert_or_assign(name, found->second);
  }
}

}  // namespace weir::sim
