#include "weir/zae_table/config/config_write.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "weir/model/quota_text.h"
#include "weir/zae_table/config/config_fields.h"

namespace weir::dynamo {
namespace {

std::string OrderOf(const std::vector<Limit>& limits) {
  std::vector<std::string_view> names;
  names.reserve(limits.size());
  for (const Limit& limit : limits) names.push_back(limit.name);
  if (std::ranges::is_sorted(names)) return {};
  return fmt::format("{}", fmt::join(names, ","));
}

// Returns the attributes that identify the item for readers and indexes.
Item Identity(const Keys& keys, const Level& level) {
  Item item{{"config_version", Of(std::int64_t{1})},
            {"GSI4PK", Of(keys.namespace_id())},
            {"GSI4SK", Of(keys.Config(level).pk)}};
  if (level.kind != Level::Kind::kSystem) item.emplace("resource", Of(ResourceOf(level)));
  if (!NamesEntity(level)) return item;
  item.emplace("entity_id", Of(level.entity));
  item.emplace("GSI3PK", Of(keys.EntitiesWithConfig(ResourceOf(level))));
  item.emplace("GSI3SK", Of(level.entity));
  return item;
}

// Returns the attributes that contain the limits and settings.
Item Contents(const LevelLimits& limits) {
  Item item;
  for (const Limit& limit : limits.limits) {
    const StoredQuota stored = ToStored(limit.quota);
    for (const auto& [field, member] : kStoredFields) {
      item.emplace(LimitField(limit.name, field), Of(stored.*member));
    }
    if (limit.allowance != milliseconds(0)) {
      item.emplace(fmt::format("{}{}", kAllowancePrefix, limit.name), Of(limit.allowance.count()));
    }
    if (FromStored(stored) == limit.quota) continue;
    item.emplace(fmt::format("{}{}", kExactPrefix, limit.name), Of(FormatQuota(limit.quota)));
  }
  if (limits.on_unavailable) {
    const bool allow = *limits.on_unavailable == OnUnavailable::kAllow;
    item.emplace(kOnUnavailable, Of(allow ? "allow" : "block"));
  }
  if (limits.managed) item.emplace(kManaged, Of(true));
  if (const std::string order = OrderOf(limits.limits); !order.empty()) {
    item.emplace(kOrder, Of(order));
  }
  return item;
}

bool IsIdentity(std::string_view attribute) {
  static constexpr std::array<std::string_view, 5> kNames = {"PK", "SK", "entity_id", "resource",
                                                             "config_version"};
  return std::ranges::find(kNames, attribute) != kNames.end() || attribute.starts_with("GSI");
}

// Requires that the item exists, and that the registries count it exactly if they did when it was
// read.
void RequireRegistration(const Level& level, const Item& old, Expression& expression) {
  expression.RequireExists("PK");
  if (!NamesEntity(level)) return;
  if (old.contains("GSI3PK")) {
    expression.RequireExists("GSI3PK");
  } else {
    expression.RequireAbsent("GSI3PK");
  }
}

// Requires that the content is as it was read: compares Weir's revision or, if the item has none,
// each attribute. Writers of zae-limiter's Python client replace the whole item and so drop the
// revision.
void RequireAsRead(const Level& level, const Item& old, Expression& expression) {
  RequireRegistration(level, old, expression);
  if (const auto revision = old.find(kRevision); revision != old.end()) {
    expression.RequireEqual(kRevision, revision->second);
    return;
  }
  expression.RequireAbsent(kRevision);
  for (const auto& [attribute, value] : old) {
    if (IsContent(level, attribute)) expression.RequireEqual(attribute, value);
  }
}

}  // namespace

Write SetConfig(const Keys& keys, const LevelRecord& record, const Item* old,
                std::uint64_t revision) {
  const Level& level = record.level;
  Write write{.kind = Write::Kind::kUpdate, .key = keys.Config(level), .item = {}};
  Item contents = Contents(record.limits);
  if (old == nullptr) {
    write.expression.RequireAbsent("PK");
  } else {
    RequireAsRead(level, *old, write.expression);
    for (const auto& [attribute, value] : *old) {
      const bool is_obsolete = attribute != kRevision && !contents.contains(attribute);
      if (is_obsolete && IsContent(level, attribute)) write.expression.Remove(attribute);
    }
  }
  contents.emplace(kRevision, Of(Hex(revision)));
  contents.merge(Identity(keys, level));
  for (auto& [attribute, value] : contents) write.expression.Set(attribute, std::move(value));
  return write;
}

bool IsOurs(const Level& level, const Item& item) {
  return std::ranges::all_of(item, [&](const auto& entry) {
    return IsContent(level, entry.first) || IsIdentity(entry.first);
  });
}

Write ClearConfig(const Keys& keys, const Level& level, const Item& old) {
  Write write{.kind = Write::Kind::kDelete, .key = keys.Config(level), .item = {}};
  RequireAsRead(level, old, write.expression);
  if (IsOurs(level, old)) return write;
  write.kind = Write::Kind::kUpdate;
  for (const auto& [attribute, value] : old) {
    if (IsContent(level, attribute)) write.expression.Remove(attribute);
  }
  return write;
}

Write DropConfig(const Keys& keys, const Level& level, const Item& old) {
  Write write{.kind = Write::Kind::kDelete, .key = keys.Config(level), .item = {}};
  RequireRegistration(level, old, write.expression);
  return write;
}

Write SetAuditRetention(const Keys& keys, std::int64_t days) {
  const Level system = Level::System();
  Write write{.kind = Write::Kind::kUpdate, .key = keys.Config(system), .item = {}};
  for (auto& [attribute, value] : Identity(keys, system)) write.expression.Set(attribute, value);
  write.expression.Set(kAuditRetention, Of(days));
  return write;
}

bool IsRegistered(const Level& level, const Item& item) {
  if (level.kind == Level::Kind::kSystem) return true;
  return item.contains(NamesEntity(level) ? "GSI3PK" : "config_version");
}

std::string ResourceOf(const Level& level) {
  return level.kind == Level::Kind::kEntityDefault ? std::string(kDefaultResource) : level.resource;
}

}  // namespace weir::dynamo
