#include "apps/weir/replay/replay_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"

namespace weir::app {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

void AddTo(Counts& sum, const Counts& added) {
  for (const auto& [name, count] : added) sum[name] += count;
}

std::uint64_t CountOf(const Counts& counts, const std::string& name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

TenantTally SumOf(const ReplayReport& report) {
  TenantTally sum{.entity = "all"};
  for (const TenantTally& tally : report.tenants) {
    sum.asked += tally.asked;
    sum.admitted += tally.admitted;
    sum.refused += tally.refused;
    sum.impossible += tally.impossible;
    AddTo(sum.refused_by.own, tally.refused_by.own);
    AddTo(sum.refused_by.above, tally.refused_by.above);
    sum.tokens += tally.tokens;
    sum.deepest_debt = std::max(sum.deepest_debt, tally.deepest_debt);
  }
  return sum;
}

Json ToJson(const TenantTally& tally, const std::vector<std::string>& limits) {
  Json refused_by = Json::object();
  for (const std::string& name : limits) refused_by[name] = CountOf(tally.refused_by.own, name);
  for (const std::string& name : limits) {
    refused_by["parent_" + name] = CountOf(tally.refused_by.above, name);
  }
  return {{"entity", tally.entity},
          {"resource", tally.resource},
          {"asked", tally.asked},
          {"admitted", tally.admitted},
          {"refused", tally.refused},
          {"impossible", tally.impossible},
          {"refused_by", refused_by},
          {"tokens", TokensJson(tally.tokens)},
          {"deepest_debt", TokensJson(tally.deepest_debt)}};
}

std::vector<std::string> HeadingsOf(const ReplayReport& report) {
  std::vector<std::string> headings{"tenant", ">asked", ">admitted", ">refused"};
  for (const std::string& name : report.limit_names) headings.push_back(">by " + name);
  for (const std::string& name : report.limit_names) headings.push_back(">parent " + name);
  headings.insert(headings.end(), {">impossible", ">tokens", ">debt"});
  return headings;
}

std::vector<std::string> RowOf(const TenantTally& tally, const ReplayReport& report) {
  const RefusedBy& by = tally.refused_by;
  std::vector<std::string> row{tally.entity, fmt::to_string(tally.asked),
                               fmt::to_string(tally.admitted), fmt::to_string(tally.refused)};
  for (const std::string& name : report.limit_names) {
    row.push_back(fmt::to_string(CountOf(by.own, name)));
  }
  for (const std::string& name : report.limit_names) {
    row.push_back(fmt::to_string(CountOf(by.above, name)));
  }
  row.push_back(fmt::to_string(tally.impossible));
  row.push_back(FormatTokens(tally.tokens));
  row.push_back(FormatTokens(tally.deepest_debt));
  return row;
}

/// The resource is shown only if there are several.
bool HasResources(const ReplayReport& report) {
  return std::ranges::any_of(report.tenants, [&](const TenantTally& tally) {
    return tally.resource != report.tenants.front().resource;
  });
}

std::string TenantsText(const ReplayReport& report) {
  const bool names_resource = HasResources(report);
  Table table(HeadingsOf(report));
  for (TenantTally tally : report.tenants) {
    if (names_resource) tally.entity += '/' + tally.resource;
    table.Row(RowOf(tally, report));
  }
  table.Row(RowOf(SumOf(report), report));
  return table.Text();
}

std::string AboveText(const ReplayReport& report) {
  if (report.above.empty()) return "";
  Table table({"parent", ">tokens", ">debt"});
  for (const auto& [entity, tally] : report.above) {
    table.Row({entity, FormatTokens(tally.tokens), FormatTokens(tally.deepest_debt)});
  }
  return '\n' + table.Text();
}

}  // namespace

Json ToJson(const ReplayResult& result) {
  const ReplayReport& report = result.report;
  Json json = ToJson(SumOf(report), report.limit_names);
  json.erase("entity");
  json.erase("resource");
  json["bound"] = result.breach ? "broken" : "held";
  if (result.breach) json["breach"] = TextOf(*result.breach);
  // The ratio of nanoseconds to microseconds is that of millitokens to tokens.
  json["p50_us"] = TokensJson(report.latency.Quantile(0.5));
  json["p99_us"] = TokensJson(report.latency.Quantile(0.99));
  json["tenants"] = Json::array();
  for (const TenantTally& tally : report.tenants) {
    json["tenants"].push_back(ToJson(tally, report.limit_names));
  }
  json["parents"] = Json::array();
  for (const auto& [entity, tally] : report.above) {
    json["parents"].push_back({{"entity", entity},
                               {"tokens", TokensJson(tally.tokens)},
                               {"deepest_debt", TokensJson(tally.deepest_debt)}});
  }
  return json;
}

std::string TextOf(const ReplayResult& result) {
  const ReplayReport& report = result.report;
  return fmt::format("{}{}\ndecision: p50 {} us, p99 {} us\nbound: {}\n", TenantsText(report),
                     AboveText(report), FormatTokens(report.latency.Quantile(0.5)),
                     FormatTokens(report.latency.Quantile(0.99)),
                     result.breach ? "broken" : "held");
}

}  // namespace weir::app
