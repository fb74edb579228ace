#include "apps/weir/terminal/json.h"

#include <utility>

#include "apps/weir/terminal/text.h"
#include "weir/model/quota_text.h"

namespace weir::app {
namespace {

// Returns null for the wait of a request that is never admitted.
Json WaitJson(milliseconds wait) { return wait == kNeverAdmitted ? Json() : Json(wait.count()); }

Json ToJson(const LimitStatus& status) {
  return {{"entity", status.entity},
          {"name", status.limit},
          {"capacity", TokensJson(status.capacity)},
          {"available", TokensJson(status.available)},
          {"requested", TokensJson(status.requested)},
          {"exceeded", status.exceeded},
          {"retry_after_ms", WaitJson(status.retry_after)}};
}

/// Writes limits as a limits file declares them: by name, with periods in seconds.
Json DeclarationOf(const std::vector<Limit>& limits) {
  Json json = Json::object();
  for (const auto& [name, quota, allowance] : limits) {
    Json& limit = json[name] = {{"capacity", TokensJson(quota.capacity)},
                                {"refill_amount", TokensJson(quota.amount)},
                                {"refill_period", TokensJson(quota.period)}};
    if (allowance != milliseconds(0)) limit["allowance"] = FormatAllowance(allowance);
  }
  return {{"limits", std::move(json)}};
}

Json DeclarationOf(const EntityDeclaration& declaration) {
  Json json = Json::object();
  if (declaration.parent) json["parent"] = *declaration.parent;
  if (declaration.cascade) json["cascade"] = true;
  json["resources"] = ObjectOf(declaration.resources, [](const std::vector<Limit>& limits) {
    return DeclarationOf(limits);
  });
  return json;
}

}  // namespace

std::string_view NameOf(Level::Kind kind) {
  switch (kind) {
    case Level::Kind::kSystem:
      return "system";
    case Level::Kind::kResource:
      return "resource";
    case Level::Kind::kEntityDefault:
      return "entity_default";
    case Level::Kind::kEntity:
      return "entity";
  }
  return "";
}

std::string_view NameOf(OnUnavailable choice) {
  return choice == OnUnavailable::kAllow ? "allow" : "block";
}

Json TokensJson(std::int64_t millitokens) {
  if (millitokens % kMillitokens == 0) return millitokens / kMillitokens;
  // From this value on, a double keeps fewer than three decimals.
  constexpr std::int64_t kInexact = (std::int64_t{1} << 43) * kMillitokens;
  if (millitokens >= kInexact || millitokens <= -kInexact) return FormatTokens(millitokens);
  return static_cast<double>(millitokens) / static_cast<double>(kMillitokens);
}

// The ratio of microseconds to milliseconds is that of millitokens to tokens.
Json MillisJson(nanoseconds time) { return TokensJson(time.count() / 1000); }

Json ToJson(const Decision& decision) {
  Json json = {{"admitted", decision.admitted},
               {"retry_after_ms", WaitJson(decision.retry_after)},
               {"limits", Json::array()}};
  for (const LimitStatus& status : decision.limits) json["limits"].push_back(ToJson(status));
  return json;
}

Json ToJson(const Limit& limit) {
  Json json = {{"name", limit.name},
               {"capacity", TokensJson(limit.quota.capacity)},
               {"refill_amount", TokensJson(limit.quota.amount)},
               {"refill_period_ms", limit.quota.period}};
  if (limit.allowance != milliseconds(0)) json["allowance_ms"] = limit.allowance.count();
  return json;
}

Json ToJson(const std::vector<Limit>& limits) {
  Json json = Json::array();
  for (const Limit& limit : limits) json.push_back(ToJson(limit));
  return json;
}

Json ToJson(const LevelRecord& record) {
  Json json = {{"level", NameOf(record.level.kind)}};
  if (!record.level.entity.empty()) json["entity"] = record.level.entity;
  if (!record.level.resource.empty()) json["resource"] = record.level.resource;
  json["limits"] = ToJson(record.limits.limits);
  if (record.limits.on_unavailable) {
    json["on_unavailable"] = NameOf(*record.limits.on_unavailable);
  }
  json["managed"] = record.limits.managed;
  return json;
}

Json ToJson(const EntityRecord& record) {
  const Entity& entity = record.entity;
  return {{"entity", entity.id},
          {"name", entity.name},
          {"parent", entity.parent ? Json(*entity.parent) : Json()},
          {"cascade", entity.cascade},
          {"metadata", entity.metadata},
          {"created_at", FormatTime(entity.created_at)},
          {"managed", record.managed}};
}

Json ToJson(const LimitsFile& file) {
  Json json = {{"namespace", file.namespace_name}};
  if (file.on_unavailable) json["system"]["on_unavailable"] = NameOf(*file.on_unavailable);
  if (!file.system.empty()) json["system"].update(DeclarationOf(file.system));
  json["resources"] = ObjectOf(
      file.resources, [](const std::vector<Limit>& limits) { return DeclarationOf(limits); });
  json["entities"] = ObjectOf(file.entities, [](const EntityDeclaration& declaration) {
    return DeclarationOf(declaration);
  });
  return json;
}

}  // namespace weir::app
