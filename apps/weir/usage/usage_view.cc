#include "apps/weir/usage/usage_view.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "apps/weir/terminal/text.h"

namespace weir::app {
namespace {

constexpr char kAllResources[] = "(all)";

Json ToJson(const UsageSnapshot& snapshot) {
  Json json = {{"start", FormatTime(snapshot.start)}, {"window", Name(snapshot.window)},
               {"entity", snapshot.entity},           {"resource", snapshot.resource},
               {"events", snapshot.events},           {"used", Json::object()}};
  if (snapshot.mixed) json["mixed"] = true;
  for (const auto& [limit, used] : snapshot.used) json["used"][limit] = used;
  if (!snapshot.overdrawn.empty()) json["overdrawn"] = Json::object();
  for (const auto& [limit, times] : snapshot.overdrawn) json["overdrawn"][limit] = times;
  return json;
}

std::string WindowOf(const UsageSnapshot& snapshot) {
  return fmt::format("{}{}", Name(snapshot.window), snapshot.mixed ? ", mixed" : "");
}

std::string CountersOf(const UsageSnapshot& snapshot) {
  std::string text;
  for (const auto& [limit, used] : snapshot.used) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", limit, used);
  }
  return text.empty() ? "-" : text;
}

void AddSums(Json& json, const UsageSummary& summary) {
  json["snapshots"] = summary.snapshots;
  if (summary.first) json["first"] = FormatTime(*summary.first);
  if (summary.last) json["last"] = FormatTime(*summary.last);
  json["limits"] = Json::array();
  for (const auto& [name, limit] : summary.limits) {
    json["limits"].push_back(
        {{"name", name}, {"used", limit.used}, {"snapshots", limit.snapshots}});
  }
}

std::vector<std::string> RowOf(const std::string& name, const UsageSummary::Limit& limit) {
  const double average = static_cast<double>(limit.used) / static_cast<double>(limit.snapshots);
  return {name, fmt::format("{}", limit.used), fmt::format("{:.1f}", average)};
}

Table TableOf(const UsageSummary& summary) {
  Table table({"limit", ">used", ">on average"});
  for (const auto& [name, limit] : summary.limits) table.Row(RowOf(name, limit));
  return table;
}

void AddRows(Table& table, const std::string& resource, const UsageSummary& summary) {
  for (const auto& [name, limit] : summary.limits) {
    std::vector<std::string> row = RowOf(name, limit);
    row.insert(row.begin(), resource);
    table.Row(std::move(row));
  }
}

Table TableByResource(const UsageTotals& totals) {
  Table table({"resource", "limit", ">used", ">on average"});
  for (const auto& [resource, summary] : totals.by_resource) AddRows(table, resource, summary);
  AddRows(table, kAllResources, totals.all);
  return table;
}

}  // namespace

Json ToJson(const Page<UsageSnapshot>& page) {
  Json json = {{"usage", Json::array()}};
  for (const UsageSnapshot& snapshot : page.items) json["usage"].push_back(ToJson(snapshot));
  if (!page.next.empty()) json["next"] = page.next;
  return json;
}

std::string TextOf(const Page<UsageSnapshot>& page) {
  if (page.items.empty()) return "no usage\n";
  Table table({"start", "window", "entity", "resource", ">events", "used"});
  for (const UsageSnapshot& snapshot : page.items) {
    table.Row({FormatTime(snapshot.start), WindowOf(snapshot), snapshot.entity, snapshot.resource,
               fmt::format("{}", snapshot.events), CountersOf(snapshot)});
  }
  std::string text = table.Text();
  if (!page.next.empty()) text += fmt::format("more: --after '{}'\n", page.next);
  return text;
}

Json ToJson(const UsageTotals& totals) {
  Json json = {{"window", Name(totals.window)}};
  AddSums(json, totals.all);
  if (totals.by_resource.empty()) return json;
  json["resources"] = Json::array();
  for (const auto& [resource, summary] : totals.by_resource) {
    AddSums(json["resources"].emplace_back(Json{{"resource", resource}}), summary);
  }
  return json;
}

std::string TextOf(const UsageTotals& totals) {
  const UsageSummary& all = totals.all;
  if (all.snapshots == 0) return "no usage\n";
  const Table table = totals.by_resource.empty() ? TableOf(all) : TableByResource(totals);
  return fmt::format("{} snapshots, {}, that begin {} to {}\n{}", all.snapshots,
                     Name(totals.window), FormatTime(*all.first), FormatTime(*all.last),
                     table.Text());
}

}  // namespace weir::app
