#include "weir/zae_table/migration/level_migration.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/model/ulid.h"
#include "weir/store/config/config_audit.h"
#include "weir/zae_table/config/config_fields.h"
#include "weir/zae_table/config/config_item.h"
#include "weir/zae_table/config/config_registry.h"
#include "weir/zae_table/config/config_write.h"
#include "weir/zae_table/keys.h"
#include "weir/zae_table/records/audit.h"

namespace weir::dynamo {
namespace {

const Item* Pointer(const std::optional<Item>& item) { return item ? &*item : nullptr; }

Result<std::vector<Limit>> ReadLegacyLimits(const std::vector<Item>& items) {
  std::vector<Limit> limits;
  for (const Item& item : items) {
    WEIR_ASSIGN_OR_RETURN(Limit limit, ReadLegacyLimit(*ParseLegacyKey(KeyOf(item)), item));
    limits.push_back(std::move(limit));
  }
  return limits;
}

tl::unexpected<Error> NotMigrated(const NamespaceLevel& at, std::string_view why) {
  return Fail(Code::kFailedPrecondition,
              fmt::format("{}: {}; its legacy items are left as they are", Describe(at), why));
}

// Returns the limits in the level's composite item.
Result<LevelLimits> ReadComposite(const Level& level, const Item* composite) {
  if (composite == nullptr) return LevelLimits{};
  WEIR_ASSIGN_OR_RETURN(auto limits, ReadConfig(level, *composite));
  return limits ? *std::move(limits) : LevelLimits{};
}

std::vector<std::string> DifferencesOf(const NamespaceLevel& at, const std::vector<Limit>& legacy,
                                       const std::vector<Limit>& composite) {
  std::vector<std::string> lines;
  for (const Limit& limit : legacy) {
    const auto same = std::ranges::find(composite, limit.name, &Limit::name);
    if (same != composite.end() && same->quota == limit.quota) continue;
    lines.push_back(fmt::format(
        "{}: the composite item has {}, which stays; the legacy item {} is removed", Describe(at),
        same == composite.end() ? fmt::format("no limit {}", limit.name) : FormatLimit(*same),
        FormatLimit(limit)));
  }
  return lines;
}

// Appends the writes that store the limits at a level that has none.
void StoreLimits(const Keys& keys, const LevelRecord& record, const StoredLevel& stored,
                 const ConfigSources& sources, std::vector<Write>& writes) {
  const Item* old = Pointer(stored.composite);
  writes.push_back(SetConfig(keys, record, old, sources.random()));
  RegistryChanges registries;
  if (old == nullptr || !IsRegistered(record.level, *old)) registries.Add(record.level);
  registries.AppendTo(keys, {Pointer(stored.resources), Pointer(stored.counts)}, writes);
}

// Requires that the composite item has the limits that were read.
Write RequireComposite(const Keys& keys, const Level& level, const Item& composite) {
  Write check{.kind = Write::Kind::kCheck, .key = keys.Config(level), .item = {}};
  check.expression.RequireExists("PK");
  for (const auto& [attribute, value] : composite) {
    if (IsContent(level, attribute)) check.expression.RequireEqual(attribute, value);
  }
  return check;
}

AuditEvent EventOfMigration(const LevelRecord& record, const LevelMigration& plan,
                            const std::vector<Limit>& legacy, const ConfigSources& sources) {
  AuditEvent event = *EventOf(PutLimits{record.level, record.limits}, std::nullopt);
  AuditDetail::List removed;
  for (const Limit& limit : legacy) removed.push_back({FormatLimit(limit)});
  if (!plan.stores_limits) event.action = audit_action::kLegacyLimitsRemoved;
  event.details.emplace("legacy_items", AuditDetail{std::move(removed)});
  event.at = sources.now();
  event.principal = sources.principal;
  UlidMaker ids;
  event.id = ids.Next(event.at, {static_cast<std::uint16_t>(sources.random()), sources.random()});
  return event;
}

}  // namespace

Result<LevelMigration> PlanLevelMigration(const NamespaceLevel& at, const StoredLevel& stored,
                                          const ConfigSources& sources) {
  LevelMigration plan;
  if (stored.legacy.empty()) return plan;
  if (stored.legacy.size() > kMaxLimits) {
    return NotMigrated(at, fmt::format("more than {} limits", kMaxLimits));
  }
  const Keys keys(at.namespace_id);
  WEIR_ASSIGN_OR_RETURN(const std::vector<Limit> legacy, ReadLegacyLimits(stored.legacy));
  WEIR_ASSIGN_OR_RETURN(LevelLimits limits, ReadComposite(at.level, Pointer(stored.composite)));
  plan.stores_limits = limits.limits.empty();
  if (plan.stores_limits) limits.limits = legacy;
  const LevelRecord record{at.level, std::move(limits)};
  if (plan.stores_limits) {
    const Status valid = Check(PutLimits{record.level, record.limits});
    if (!valid) return NotMigrated(at, valid.error().message);
    StoreLimits(keys, record, stored, sources, plan.writes);
  } else {
    plan.differences = DifferencesOf(at, legacy, record.limits.limits);
    plan.writes.push_back(RequireComposite(keys, at.level, *stored.composite));
  }
  for (const Item& item : stored.legacy) plan.writes.push_back(DropLegacyLimit(item));
  plan.removed = legacy.size();
  plan.limits = record.limits.limits;
  plan.writes.push_back(AuditWrite(keys, EventOfMigration(record, plan, legacy, sources),
                                   RetentionIn(Pointer(stored.system))));
  return plan;
}

}  // namespace weir::dynamo
