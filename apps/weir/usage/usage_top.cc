#include "apps/weir/usage/usage_top.h"

#include <fmt/format.h>

#include <iterator>

#include "apps/weir/terminal/text.h"

namespace weir::app {

void UsageTop::Add(const UsageSnapshot& snapshot) {
  const auto used = snapshot.used.find(limit_);
  if (used == snapshot.used.end()) return;
  weir::Add(all_, {.start = snapshot.start, .used = {*used}});
  highest_.insert({used->second, snapshot.entity, snapshot.resource});
  if (highest_.size() > count_) highest_.erase(std::prev(highest_.end()));
}

Json UsageTop::ToJson(const Window& window) const {
  Json json = {{"limit", limit_},
               {"window", Name(window.kind)},
               {"start", FormatTime(window.start)},
               {"used", highest_.empty() ? 0 : all_.limits.at(limit_).used},
               {"pairs", all_.snapshots},
               {"top", Json::array()}};
  for (const Use& use : highest_) {
    json["top"].push_back({{"entity", use.entity}, {"resource", use.resource}, {"used", use.used}});
  }
  return json;
}

std::string UsageTop::Text(const Window& window) const {
  const std::string when = fmt::format("{} from {}", Name(window.kind), FormatTime(window.start));
  if (highest_.empty()) return fmt::format("no usage of {}, {}\n", limit_, when);
  Table table({"entity", "resource", ">used"});
  for (const Use& use : highest_) {
    table.Row({use.entity, use.resource, fmt::format("{}", use.used)});
  }
  return fmt::format("{}, {}: {} by {} pairs\n{}", limit_, when, all_.limits.at(limit_).used,
                     all_.snapshots, table.Text());
}

}  // namespace weir::app
