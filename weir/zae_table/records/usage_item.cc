#include "weir/zae_table/records/usage_item.h"

#include <fmt/compile.h>

#include <algorithm>
#include <array>

#include "weir/codec/iso_time.h"
#include "weir/zae_table/records/record_ttl.h"

namespace weir::dynamo {
namespace {

constexpr std::string_view kUsageSort = "#USAGE#";
constexpr std::string_view kUsageIndexSort = "USAGE#";
constexpr std::string_view kOverdrawnSuffix = "#od";
constexpr std::string_view kLimitSuffix = "#limit";
constexpr std::string_view kOwnMark = "w_own";
constexpr std::array<std::string_view, 2> kOwnNumbers = {"total_events", "ttl"};
// Attributes that a limit's counter must not replace. Those that begin with "w_", "GSI" or "LSI"
// are reserved as well.
constexpr std::array<std::string_view, 8> kReserved = {
    "PK", "SK", "entity_id", "resource", "window", "window_start", "total_events", "ttl"};

// Returns the end of the sort keys.
std::string_view SuffixOf(UsageWindow window, bool mixed) {
  if (mixed || window == UsageWindow::kHourly) return "";
  return window == UsageWindow::kDaily ? "#daily" : "#monthly";
}

bool IsReserved(std::string_view limit) {
  for (const auto* prefix : {"w_", "GSI", "LSI"}) {
    if (limit.starts_with(prefix)) return true;
  }
  return std::ranges::find(kReserved, limit) != kReserved.end();
}

bool CutSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// An item without a suffix contains the counts of a single hour if that hour is not the first of
// its day, or if Weir created the item.
bool IsMixed(const Item& item, const UsageKey& usage) {
  const TableKey key = KeyOf(item);
  if (key.sk.ends_with("#daily") || key.sk.ends_with("#monthly")) return false;
  if (usage.window == UsageWindow::kHourly && !MayBeMixed(usage)) return false;
  return !item.contains(kOwnMark);
}

}  // namespace

TableKey KeyOfUsage(const Keys& keys, const UsageKey& usage) {
  return KeyOfUsage(keys, usage, /*mixed=*/false);
}

TableKey KeyOfUsage(const Keys& keys, const UsageKey& usage, bool mixed) {
  return {keys.EntityPartition(usage.entity),
          fmt::format(FMT_COMPILE("{}{}#{}{}"), kUsageSort, usage.resource, FormatIso(usage.start),
                      SuffixOf(usage.window, mixed))};
}

std::string IndexSortOfUsage(const UsageKey& usage, bool mixed) {
  return fmt::format(FMT_COMPILE("{}{}#{}{}"), kUsageIndexSort, FormatIso(usage.start),
                     usage.entity, SuffixOf(usage.window, mixed));
}

std::string CounterAttribute(std::string_view limit) {
  std::string name(limit);
  if (IsReserved(limit)) name += kLimitSuffix;
  return name;
}

std::string OverdrawnAttribute(std::string_view limit) {
  return std::string(limit) + std::string(kOverdrawnSuffix);
}

bool MayBeMixed(const UsageKey& usage) {
  return usage.window == UsageWindow::kHourly &&
         StartOf(UsageWindow::kDaily, usage.start) == usage.start;
}

UsageOrigin OriginOf(const UsageKey& usage, const std::optional<Item>& item) {
  const bool is_mixed = MayBeMixed(usage) && item && !item->contains(kOwnMark);
  return is_mixed ? UsageOrigin::kMixed : UsageOrigin::kOwn;
}

Write UsageUpdate(const Keys& keys, const UsageKey& usage, std::int64_t retention_days,
                  UsageOrigin origin) {
  Write write{
      .kind = Write::Kind::kUpdate, .key = KeyOfUsage(keys, usage), .item = {}, .expression = {}};
  Expression& e = write.expression;
  e.Set("entity_id", Of(usage.entity));
  e.Set("resource", Of(usage.resource));
  e.Set("window", Of(Name(usage.window)));
  e.Set("window_start", Of(FormatIso(usage.start)));
  e.Set("ttl", Of(TtlAfter(EndOf(usage.window, usage.start), retention_days)));
  e.Set("GSI2PK", Of(keys.OfResource(usage.resource)));
  e.Set("GSI2SK", Of(IndexSortOfUsage(usage, /*mixed=*/false)));
  e.Set("GSI4PK", Of(keys.namespace_id()));
  e.Set("GSI4SK", Of(write.key.pk));
  if (MayBeMixed(usage) && origin == UsageOrigin::kOwn) {
    e.Require(fmt::format(FMT_COMPILE("(attribute_not_exists({}) OR attribute_exists({}))"),
                          e.Name("PK"), e.Name(kOwnMark)));
    e.Set(kOwnMark, Of("1"));
  }
  return write;
}

std::optional<UsageSnapshot> ReadUsage(const Item& item) {
  const std::string* entity = GetText(item, "entity_id");
  const std::string* resource = GetText(item, "resource");
  const std::string* window = GetText(item, "window");
  const std::string* start = GetText(item, "window_start");
  if (entity == nullptr || resource == nullptr || window == nullptr || start == nullptr) return {};
  const auto kind = UsageWindowNamed(*window);
  const auto at = ParseIso(*start);
  if (!kind || !at) return std::nullopt;
  UsageSnapshot snapshot{.entity = *entity, .resource = *resource, .window = *kind, .start = *at};
  snapshot.mixed = IsMixed(item, {*entity, *resource, *kind, *at});
  snapshot.events = GetNumber(item, "total_events").value_or(0);
  for (const auto& [name, value] : item) {
    const std::optional<std::int64_t> number = GetNumber(item, name);
    if (!number || std::ranges::find(kOwnNumbers, name) != kOwnNumbers.end()) continue;
    std::string_view limit = name;
    if (CutSuffix(limit, kOverdrawnSuffix)) {
      snapshot.overdrawn.emplace(limit, *number);
    } else {
      CutSuffix(limit, kLimitSuffix);
      snapshot.used.emplace(limit, *number);
    }
  }
  return snapshot;
}

}  // namespace weir::dynamo
