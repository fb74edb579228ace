#include "apps/weir/replay_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/weir/json.h"
#include "apps/weir/text.h"

namespace weir::app {
namespace {

TenantTally SumOf(const ReplayReport& report) {
  TenantTally sum{.entity = "all"};
  for (const TenantTally& tally : report.tenants) {
    sum.asked += tally.asked;
    sum.admitted += tally.admitted;
    sum.refused += tally.refused;
    sum.impossible += tally.impossible;
    sum.refused_by.own_requests += tally.refused_by.own_requests;
    sum.refused_by.own_tokens += tally.refused_by.own_tokens;
    sum.refused_by.above_requests += tally.refused_by.above_requests;
    sum.refused_by.above_tokens += tally.refused_by.above_tokens;
    sum.tokens += tally.tokens;
    sum.deepest_debt = std::max(sum.deepest_debt, tally.deepest_debt);
  }
  return sum;
}

Json ToJson(const TenantTally& tally) {
  const RefusedBy& by = tally.refused_by;
  return {{"entity", tally.entity},
          {"asked", tally.asked},
          {"admitted", tally.admitted},
          {"refused", tally.refused},
          {"impossible", tally.impossible},
          {"refused_by",
           {{"rpm", by.own_requests},
            {"tpm", by.own_tokens},
            {"parent_rpm", by.above_requests},
            {"parent_tpm", by.above_tokens}}},
          {"tokens", TokensJson(tally.tokens)},
          {"deepest_debt", TokensJson(tally.deepest_debt)}};
}

std::vector<std::string> RowOf(const TenantTally& tally) {
  const RefusedBy& by = tally.refused_by;
  return {tally.entity,
          fmt::to_string(tally.asked),
          fmt::to_string(tally.admitted),
          fmt::to_string(tally.refused),
          fmt::to_string(by.own_requests),
          fmt::to_string(by.own_tokens),
          fmt::to_string(by.above_requests),
          fmt::to_string(by.above_tokens),
          fmt::to_string(tally.impossible),
          FormatTokens(tally.tokens),
          FormatTokens(tally.deepest_debt)};
}

std::string TenantsText(const ReplayReport& report) {
  Table table({"tenant", ">asked", ">admitted", ">refused", ">by rpm", ">by tpm", ">parent rpm",
               ">parent tpm", ">impossible", ">tokens", ">debt"});
  for (const TenantTally& tally : report.tenants) table.Row(RowOf(tally));
  table.Row(RowOf(SumOf(report)));
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

Json ToJson(const ReplayAnswer& answer) {
  const ReplayReport& report = answer.report;
  Json json = ToJson(SumOf(report));
  json.erase("entity");
  json["bound"] = answer.breach ? "broken" : "held";
  if (answer.breach) json["breach"] = TextOf(*answer.breach);
  // Nanoseconds are to microseconds what millitokens are to tokens.
  json["p50_us"] = TokensJson(report.latency.Quantile(0.5));
  json["p99_us"] = TokensJson(report.latency.Quantile(0.99));
  json["tenants"] = Json::array();
  for (const TenantTally& tally : report.tenants) json["tenants"].push_back(ToJson(tally));
  json["parents"] = Json::array();
  for (const auto& [entity, tally] : report.above) {
    json["parents"].push_back({{"entity", entity},
                               {"tokens", TokensJson(tally.tokens)},
                               {"deepest_debt", TokensJson(tally.deepest_debt)}});
  }
  return json;
}

std::string TextOf(const ReplayAnswer& answer) {
  const ReplayReport& report = answer.report;
  return fmt::format("{}{}\ndecision: p50 {} us, p99 {} us\nbound: {}\n", TenantsText(report),
                     AboveText(report), FormatTokens(report.latency.Quantile(0.5)),
                     FormatTokens(report.latency.Quantile(0.99)),
                     answer.breach ? "broken" : "held");
}

}  // namespace weir::app
