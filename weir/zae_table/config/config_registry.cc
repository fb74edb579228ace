#include "weir/zae_table/config/config_registry.h"

#include <algorithm>
#include <iterator>

#include "weir/zae_table/config/config_fields.h"
#include "weir/zae_table/config/config_write.h"

namespace weir::dynamo {
namespace {

constexpr std::string_view kResources = "resources";

// A resource that has the name of an attribute of the registry cannot be counted there.
bool IsCountable(std::string_view resource) {
  return resource != "PK" && resource != "SK" && !resource.starts_with("GSI") &&
         !resource.starts_with("LSI");
}

StringSet ToSet(const std::set<std::string>& members) { return {{members.begin(), members.end()}}; }

}  // namespace

void RegistryChanges::Add(const Level& level) {
  if (level.kind == Level::Kind::kResource) added_.insert(level.resource);
  if (NamesEntity(level)) ++counts_[ResourceOf(level)];
}

void RegistryChanges::Remove(const Level& level) {
  if (level.kind == Level::Kind::kResource) removed_.insert(level.resource);
  if (NamesEntity(level)) --counts_[ResourceOf(level)];
}

void RegistryChanges::AppendTo(const Keys& keys, const Read& read,
                               std::vector<Write>& writes) const {
  const auto append = [&](const TableKey& key, Expression expression) {
    if (!expression.changes_anything()) return;
    expression.Set("GSI4PK", Of(keys.namespace_id())).Set("GSI4SK", Of(key.pk));
    writes.push_back(
        {.kind = Write::Kind::kUpdate, .key = key, .item = {}, .expression = expression});
  };
  append(keys.ResourceRegistry(), ChangeResources(read.resources));
  append(keys.EntityConfigRegistry(), ChangeCounts(read.counts));
}

// DynamoDB does not allow one update to add members to a set and to delete others, so a change that
// does both replaces the set, on the condition that it is as it was read.
Expression RegistryChanges::ChangeResources(const Item* read) const {
  Expression change;
  const StringSet* known = read == nullptr ? nullptr : GetSet(*read, kResources);
  if (removed_.empty() || known == nullptr) {
    if (!added_.empty()) change.Add(kResources, ToSet(added_));
    return change;
  }
  if (added_.empty()) return change.Delete(kResources, ToSet(removed_));
  std::set<std::string> members(known->members.begin(), known->members.end());
  for (const std::string& resource : removed_) members.erase(resource);
  members.insert(added_.begin(), added_.end());
  return change.Set(kResources, {ToSet(members)}).RequireEqual(kResources, {*known});
}

// A count that would become 0 is removed, on the condition that it is as it was read. The other
// counts are changed by additions, so concurrent changes of them do not conflict.
Expression RegistryChanges::ChangeCounts(const Item* read) const {
  Expression change;
  for (const auto& [resource, delta] : counts_) {
    if (delta == 0 || !IsCountable(resource)) continue;
    const auto known = read == nullptr ? std::nullopt : GetNumber(*read, resource);
    if (delta > 0) {
      change.Add(resource, delta);
    } else if (known && *known + delta > 0) {
      change.Add(resource, delta).Require(resource, ">", -delta);
    } else if (known) {
      change.Remove(resource).RequireEqual(resource, Of(*known));
    }
  }
  return change;
}

}  // namespace weir::dynamo
