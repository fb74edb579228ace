#include "apps/weir/resource_capacity.h"

#include <fmt/format.h>

#include "apps/weir/bucket_view.h"
#include "apps/weir/terminal/text.h"

namespace weir::app {
namespace {

constexpr char kAllEntities[] = "(all)";

Json ToJson(const std::string& name, const LimitCapacity& limit) {
  return {{"name", name},
          {"capacity", TokensJson(limit.capacity)},
          {"tokens", TokensJson(limit.tokens)}};
}

void AddRows(Table& table, const std::string& entity, const LimitCapacities& limits) {
  for (const auto& [name, limit] : limits) {
    table.Row({entity, name, FormatTokens(limit.capacity), FormatTokens(limit.tokens)});
  }
}

}  // namespace

Status Add(ResourceCapacity& sums, const BucketRecord& record) {
  LimitCapacities& own = sums.entities[record.key.entity];
  for (const ShownMeter& shown : MetersAt(record, sums.at)) {
    if (!shown.configured) continue;
    const LimitCapacity limit{shown.meter.quota.capacity, shown.meter.tokens, 1};
    own[shown.limit] = limit;
    LimitCapacity& all = sums.all[shown.limit];
    if (__builtin_add_overflow(all.capacity, limit.capacity, &all.capacity) ||
        __builtin_add_overflow(all.tokens, limit.tokens, &all.tokens)) {
      return Fail(Code::kOutOfRange,
                  fmt::format("resource {}: the capacities of limit {} are too large to be added",
                              sums.resource, shown.limit));
    }
    ++all.buckets;
  }
  return {};
}

Json ToJson(const ResourceCapacity& sums) {
  Json json = {{"resource", sums.resource},
               {"at", FormatTime(sums.at)},
               {"entities", Json::array()},
               {"all", Json::array()}};
  for (const auto& [entity, limits] : sums.entities) {
    Json& list = json["entities"].emplace_back(Json{{"entity", entity}})["limits"];
    list = Json::array();
    for (const auto& [name, limit] : limits) list.push_back(ToJson(name, limit));
  }
  for (const auto& [name, limit] : sums.all) {
    json["all"].push_back(ToJson(name, limit));
    json["all"].back()["buckets"] = limit.buckets;
  }
  return json;
}

std::string TextOf(const ResourceCapacity& sums) {
  if (sums.all.empty()) return fmt::format("no buckets on {} are stored\n", sums.resource);
  Table table({"entity", "limit", ">capacity", ">tokens"});
  for (const auto& [entity, limits] : sums.entities) AddRows(table, entity, limits);
  AddRows(table, kAllEntities, sums.all);
  return table.Text();
}

}  // namespace weir::app
