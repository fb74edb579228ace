// Plans the creation of a bucket that does not exist yet.
#include <algorithm>
#include <utility>

#include "weir/zae_table/bucket/bucket_lifetime.h"
#include "weir/zae_table/bucket/bucket_plan.h"
#include "weir/zae_table/bucket/limit_updates.h"

namespace weir::dynamo {
namespace {

// Returns the item without its limits.
Item NewItem(const Keys& keys, const Owner& owner, const BucketRequest& request, UnixMillis now) {
  const BucketKey& key = request.target.key;
  Item item = keys.BucketIndexes(key);
  item.emplace("entity_id", Of(key.entity));
  item.emplace("resource", Of(key.resource));
  item.emplace("rf", Of(now.value));
  item.emplace("shard_count", Of(std::int64_t{1}));
  item.emplace("cascade", Of(owner.cascade));
  if (owner.parent) item.emplace("parent_id", Of(*owner.parent));
  if (owner.exists && owner.generation > 0) item.emplace("pgen", Of(owner.generation));
  if (owner.incarnation) item.emplace("pinc", Of(*owner.incarnation));
  if (request.guard != nullptr)
    item.emplace(SlotAttribute(request.guard->slot), Of(request.guard->value));
  return item;
}

// Adds the limits that are in the item after the updates, and the names of the extras.
void AddMeters(Item& item, const std::vector<LimitUpdate>& updates) {
  std::vector<std::string> extras;
  for (const LimitUpdate& update : updates) {
    if (update.absent) continue;
    AddMeter(item, update.name, update.quota, update.quota.capacity - update.amounts.used(),
             update.amounts.net());
    if (update.extra) extras.push_back(update.name);
  }
  if (auto text = FormatExtras(std::move(extras))) item.emplace(kExtras, Of(*std::move(text)));
}

// A bucket that does not exist is full, and stays full if no limit is charged. Returns at the
// capacity have no effect.
bool StoresNothing(const std::vector<LimitUpdate>& updates) {
  return std::ranges::all_of(updates, [](const LimitUpdate& update) {
    return update.absent || update.amounts.is_nothing();
  });
}

}  // namespace

Owner ReadOwner(const std::optional<Item>& meta) {
  if (!meta) return {};
  Owner owner{.exists = true,
              .cascade = GetFlag(*meta, "cascade").value_or(false),
              .generation = GetNumber(*meta, "pgen").value_or(0)};
  if (const auto* parent = GetText(*meta, "parent_id")) owner.parent = *parent;
  if (const auto* pinc = GetText(*meta, "pinc")) owner.incarnation = *pinc;
  if (const auto* created = GetText(*meta, "created_at")) owner.created_at = *created;
  return owner;
}

void AddMeter(Item& item, std::string_view name, const Quota& quota, std::int64_t tokens,
              std::int64_t used) {
  item.emplace(LimitAttribute(name, "tk"), Of(tokens));
  item.emplace(LimitAttribute(name, "cp"), Of(quota.capacity));
  item.emplace(LimitAttribute(name, "ra"), Of(quota.amount));
  item.emplace(LimitAttribute(name, "rp"), Of(quota.period));
  item.emplace(LimitAttribute(name, "tc"), Of(used));
}

// The generation changes with the entity's parent and cascade, and the incarnation with each
// creation of the entity. A record without an incarnation is identified by its time of creation.
Write OwnerCheck(const Keys& keys, const Owner& owner, std::string_view entity) {
  Write check{.kind = Write::Kind::kCheck, .key = keys.Entity(entity)};
  Expression& e = check.expression;
  if (!owner.exists) {
    e.RequireAbsent("PK");
    return check;
  }
  e.RequireExists("PK");
  e.RequireSame("pgen", owner.generation > 0 ? std::optional(Of(owner.generation)) : std::nullopt);
  e.RequireSame("pinc", owner.incarnation ? std::optional(Of(*owner.incarnation)) : std::nullopt);
  if (!owner.incarnation && owner.created_at) e.RequireEqual("created_at", Of(*owner.created_at));
  return check;
}

Result<BucketPlan> PlanCreate(const Keys& keys, const Owner& owner, const BucketRequest& request,
                              UnixMillis now) {
  BucketPlan plan;
  const Target& target = request.target;
  std::vector<LimitUpdate> updates = NewLimitUpdates(request);
  WEIR_RETURN_IF_ERROR(CheckDebt(updates, target.key));
  plan.settled = StoresNothing(updates);
  if (plan.settled) return plan;
  WEIR_RETURN_IF_ERROR(EvictExtras(updates, request));
  Write put{.kind = Write::Kind::kPut, .item = NewItem(keys, owner, request, now)};
  AddMeters(put.item, updates);
  AddMeter(put.item, kWriteLimit, request.writes, request.writes.capacity - kWriteCost, kWriteCost);
  put.item.emplace("ttl", Of(TtlAt(now, updates, std::nullopt)));
  put.expression.RequireAbsent("PK");
  plan.moves_rf = true;
  plan.writes.push_back(std::move(put));
  plan.writes.push_back(OwnerCheck(keys, owner, target.key.entity));
  return plan;
}

}  // namespace weir::dynamo
