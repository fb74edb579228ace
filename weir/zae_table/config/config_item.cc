#include "weir/zae_table/config/config_item.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "weir/model/quota_text.h"
#include "weir/model/quoted.h"
#include "weir/zae_table/config/config_fields.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {
namespace {

tl::unexpected<Error> Refuse(const Level& level, std::string_view what) {
  return Fail(Code::kFailedPrecondition,
              fmt::format("{}: {}; it is left as it is", Describe(level), what));
}

tl::unexpected<Error> RefuseFeature(const Level& level, const FieldName& name) {
  std::string what = fmt::format("the field '{}'", name.field);
  if (name.field == "sched") what = "a schedule";
  if (name.field == "rsched") what = "a reset schedule";
  if (name.field == "soft") what = "a soft limit";
  return Refuse(level, fmt::format("limit {} uses {}, which weir does not implement",
                                   Printable(name.limit), Printable(what)));
}

// Refuses features that change the meaning of the whole item. `disabled: false` is ignored: in
// zae-limiter it only overrides a disabled level, and a disabled level is itself refused.
Status CheckFlags(const Level& level, const Item& item) {
  if (item.contains("disabled") && GetFlag(item, "disabled") != false) {
    return Refuse(level, "it is disabled or bypassed, which weir does not implement");
  }
  if (item.contains("cascade")) {
    return Refuse(level, "it has a cascade policy, which weir does not implement");
  }
  const auto window = item.lower_bound("w_");
  if (window == item.end() || !window->first.starts_with("w_")) return {};
  return Refuse(level, fmt::format("attribute {} is of a session window, which weir does not "
                                   "implement",
                                   Quoted(window->first)));
}

using StoredLimits = std::map<std::string, StoredQuota, std::less<>>;

Result<StoredLimits> ReadNumbers(const Level& level, const Item& item) {
  StoredLimits limits;
  for (const auto& [attribute, value] : item) {
    const auto name = ParseField(attribute);
    if (!name) continue;
    const auto field = std::ranges::find(kStoredFields, name->field, &StoredField::name);
    if (field == kStoredFields.end()) return RefuseFeature(level, *name);
    const auto number = GetNumber(item, attribute);
    if (!number || *number < 0) {
      return Fail(Code::kDataLoss, fmt::format("{}: {} is not a whole number of at least 0",
                                               Describe(level), Quoted(attribute)));
    }
    limits[std::string(name->limit)].*(field->member) = *number;
  }
  return limits;
}

// The exact text is valid only with the numbers that it was written with: another client, which
// does not know the text, may have changed the numbers since and left the text unchanged.
Result<Limit> ReadLimit(const Level& level, const Item& item, const std::string& name,
                        const StoredQuota& stored) {
  if (const std::string* text = GetText(item, fmt::format("{}{}", kExactPrefix, name))) {
    const auto exact = ParseQuota(*text);
    if (exact && ToStored(*exact) == stored) return Limit{name, *exact};
  }
  if (item.contains(LimitField(name, "ra")) && stored.amount == 0) {
    return Refuse(level, fmt::format("limit {} refills by resets alone (its refill amount is 0), "
                                     "which weir does not implement",
                                     Printable(name)));
  }
  if (stored.capacity == 0 || stored.amount == 0 || stored.seconds == 0) {
    return Fail(Code::kDataLoss, fmt::format("{}: limit {} lacks cp, ra or rp, or one of them is 0",
                                             Describe(level), Printable(name)));
  }
  if (IsWithinBounds(stored)) return Limit{name, FromStored(stored)};
  return Refuse(level, fmt::format("limit {} has numbers beyond what weir keeps (10^13 tokens, 366 "
                                   "days)",
                                   Printable(name)));
}

// Returns 0 if the attribute is absent, or not an allowance that Weir could have written.
milliseconds ReadAllowance(const Item& item, std::string_view name) {
  const auto millis = GetNumber(item, fmt::format("{}{}", kAllowancePrefix, name));
  if (!millis || !CheckAllowance(milliseconds(*millis))) return milliseconds(0);
  return milliseconds(*millis);
}

// Sorts the limits in the order in which they were set. Limits that another client added later come
// last, because find returns npos, the largest position.
void Reorder(const Item& item, std::vector<Limit>& limits) {
  const std::string* order = GetText(item, kOrder);
  if (order == nullptr) return;
  const std::string text = fmt::format(",{},", *order);
  std::ranges::sort(limits, {}, [&](const Limit& limit) {
    return std::pair(text.find(fmt::format(",{},", limit.name)), limit.name);
  });
}

Result<std::optional<OnUnavailable>> ReadOnUnavailable(const Level& level, const Item& item) {
  const auto found = item.find(kOnUnavailable);
  if (level.kind != Level::Kind::kSystem || found == item.end()) return std::nullopt;
  if (found->second == Of("allow")) return OnUnavailable::kAllow;
  if (found->second == Of("block")) return OnUnavailable::kBlock;
  if (found->second == Value{Null{}}) return std::nullopt;
  return Refuse(level, "on_unavailable is neither 'allow' nor 'block'");
}

}  // namespace

Result<std::optional<LevelLimits>> ReadConfig(const Level& level, const Item& item) {
  WEIR_RETURN_IF_ERROR(CheckFlags(level, item));
  WEIR_ASSIGN_OR_RETURN(const StoredLimits stored, ReadNumbers(level, item));
  LevelLimits limits;
  for (const auto& [name, numbers] : stored) {
    WEIR_ASSIGN_OR_RETURN(Limit limit, ReadLimit(level, item, name, numbers));
    limit.allowance = ReadAllowance(item, name);
    limits.limits.push_back(std::move(limit));
  }
  WEIR_ASSIGN_OR_RETURN(limits.on_unavailable, ReadOnUnavailable(level, item));
  if (limits.limits.empty() && !limits.on_unavailable) return std::nullopt;
  if (!limits.limits.empty()) {
    const Status valid = Validate(limits.limits);
    if (!valid) return Refuse(level, valid.error().message);
  }
  Reorder(item, limits.limits);
  limits.managed = GetFlag(item, kManaged).value_or(false);
  return limits;
}

std::optional<Level> LevelOf(std::string_view entity, std::string_view sort_key) {
  if (!sort_key.starts_with(kConfigSort)) return std::nullopt;
  sort_key.remove_prefix(kConfigSort.size());
  if (!sort_key.starts_with('#')) return std::nullopt;
  sort_key.remove_prefix(1);
  if (sort_key.empty()) return std::nullopt;
  if (sort_key == kDefaultResource) return Level::EntityDefault(std::string(entity));
  return Level::Entity(std::string(entity), std::string(sort_key));
}

}  // namespace weir::dynamo
