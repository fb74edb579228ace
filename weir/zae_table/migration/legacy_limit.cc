#include "weir/zae_table/migration/legacy_limit.h"

#include <fmt/format.h>

#include "weir/model/quoted.h"
#include "weir/zae_table/config/config_fields.h"
#include "weir/zae_table/config/config_write.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {
namespace {

// Removes the prefix from the front. Returns false if the text does not begin with it.
bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Returns the key of an entity's limit. `name` is "<resource>#<limit>".
std::optional<LegacyKey> EntityLimit(std::string_view ns, std::string_view entity,
                                     std::string_view name) {
  const std::size_t mark = name.find('#');
  if (mark == name.npos || mark == 0 || mark + 1 == name.size()) return std::nullopt;
  const std::string_view resource = name.substr(0, mark);
  Level level = resource == kDefaultResource
                    ? Level::EntityDefault(std::string(entity))
                    : Level::Entity(std::string(entity), std::string(resource));
  return LegacyKey{{std::string(ns), std::move(level)}, std::string(name.substr(mark + 1))};
}

tl::unexpected<Error> NotMigrated(const LegacyKey& key, std::string_view what) {
  return Fail(Code::kFailedPrecondition,
              fmt::format("{}: the legacy item of limit {} {}; it is left as it is",
                          Describe(key.at), Printable(key.limit), what));
}

}  // namespace

std::string Describe(const NamespaceLevel& level) {
  return fmt::format("namespace {}, {}", Printable(level.namespace_id), Describe(level.level));
}

std::optional<LegacyKey> ParseLegacyKey(const TableKey& key) {
  const std::string_view pk = key.pk;
  const std::size_t slash = pk.find('/');
  std::string_view name = key.sk;
  if (slash == pk.npos || !TakePrefix(name, kLegacyLimitSort)) return std::nullopt;
  const std::string_view ns = pk.substr(0, slash);
  std::string_view owner = pk.substr(slash + 1);
  if (TakePrefix(owner, "ENTITY#")) return EntityLimit(ns, owner, name);
  if (name.empty() || name.find('#') != name.npos) return std::nullopt;
  if (owner == "SYSTEM#") return LegacyKey{{std::string(ns), Level::System()}, std::string(name)};
  if (!TakePrefix(owner, "RESOURCE#")) return std::nullopt;
  return LegacyKey{{std::string(ns), Level::Resource(std::string(owner))}, std::string(name)};
}

std::string LegacySortOf(const Level& level) {
  if (!NamesEntity(level)) return std::string(kLegacyLimitSort);
  return fmt::format("{}{}#", kLegacyLimitSort, ResourceOf(level));
}

Result<Limit> ReadLegacyLimit(const LegacyKey& key, const Item& item) {
  const Item* data = GetMap(item, "data");
  const Item& fields = data == nullptr ? item : *data;
  const std::string_view capacity = fields.contains("burst") ? "burst" : "capacity";
  const StoredQuota stored{.capacity = GetNumber(fields, capacity).value_or(0),
                           .amount = GetNumber(fields, "refill_amount").value_or(0),
                           .seconds = GetNumber(fields, "refill_period_seconds").value_or(0)};
  if (stored.capacity <= 0 || stored.amount <= 0 || stored.seconds <= 0) {
    return NotMigrated(
        key, fmt::format("lacks {}, refill_amount or refill_period_seconds, or one of them is not "
                         "a whole number over 0",
                         capacity));
  }
  if (!IsWithinBounds(stored)) {
    return NotMigrated(key, "has numbers beyond what weir keeps (10^13 tokens, 366 days)");
  }
  return Limit{.name = key.limit, .quota = FromStored(stored)};
}

Write DropLegacyLimit(const Item& item) {
  Write write{.kind = Write::Kind::kDelete, .key = KeyOf(item), .item = {}};
  for (const std::string_view field :
       {"data", "capacity", "burst", "refill_amount", "refill_period_seconds"}) {
    write.expression.RequireSameAs(item, field);
  }
  write.expression.RequireExists("PK");
  return write;
}

}  // namespace weir::dynamo
