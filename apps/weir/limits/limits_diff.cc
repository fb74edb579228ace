// The fields that differ between a limits file and a store.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "apps/weir/limits/limits_plan.h"
#include "apps/weir/terminal/text.h"

namespace weir::app {
namespace {

using Fields = std::map<std::string, std::string>;

Fields FieldsOf(const LevelLimits& limits) {
  Fields fields;
  for (const Limit& limit : limits.limits) {
    fields[limit.name + ".capacity"] = FormatTokens(limit.quota.capacity);
    fields[limit.name + ".refill_amount"] = FormatTokens(limit.quota.amount);
    fields[limit.name + ".refill_period"] = FormatSeconds(milliseconds(limit.quota.period));
    if (limit.allowance != milliseconds(0)) {
      fields[limit.name + ".allowance"] = FormatSeconds(limit.allowance);
    }
  }
  if (limits.on_unavailable) {
    fields["on_unavailable"] = *limits.on_unavailable == OnUnavailable::kAllow ? "allow" : "block";
  }
  return fields;
}

Fields FieldsOf(const EntityRecord& record) {
  Fields fields{{"cascade", record.entity.cascade ? "yes" : "no"}};
  if (record.entity.parent) fields["parent"] = *record.entity.parent;
  return fields;
}

/// Maps each target to its fields and their values.
std::map<std::string, Fields> FieldsOf(const Declared& declared) {
  std::map<std::string, Fields> all;
  for (const auto& [level, limits] : declared.levels) all[Describe(level)] = FieldsOf(limits);
  for (const auto& [id, record] : declared.entities) {
    if (record.entity.parent) all["parent of " + id] = FieldsOf(record);
  }
  return all;
}

std::string ValueOf(const Fields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? "" : found->second;
}

std::string TextOf(const Fields& fields) {
  std::string text;
  for (const auto& [name, value] : fields) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

template <class Key, class Value>
std::set<Key> KeysOfBoth(const std::map<Key, Value>& a, const std::map<Key, Value>& b) {
  std::set<Key> keys;
  for (const auto& entry : a) keys.insert(entry.first);
  for (const auto& entry : b) keys.insert(entry.first);
  return keys;
}

void Compare(const std::string& target, const Fields& live, const Fields& file,
             std::vector<Difference>& differences) {
  if (live.empty() || file.empty()) {
    differences.push_back({target, "", TextOf(live), TextOf(file)});
    return;
  }
  for (const std::string& field : KeysOfBoth(live, file)) {
    Difference difference{target, field, ValueOf(live, field), ValueOf(file, field)};
    if (difference.live != difference.file) differences.push_back(std::move(difference));
  }
}

}  // namespace

std::vector<Difference> Differences(const LimitsFile& file, const Declared& live) {
  const std::map<std::string, Fields> file_fields = FieldsOf(DeclaredBy(file));
  const std::map<std::string, Fields> live_fields = FieldsOf(live);
  std::vector<Difference> differences;
  for (const std::string& target : KeysOfBoth(live_fields, file_fields)) {
    const auto in_live = live_fields.find(target);
    const auto in_file = file_fields.find(target);
    Compare(target, in_live == live_fields.end() ? Fields() : in_live->second,
            in_file == file_fields.end() ? Fields() : in_file->second, differences);
  }
  return differences;
}

}  // namespace weir::app
