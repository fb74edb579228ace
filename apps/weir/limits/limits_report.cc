// Reports of plans and differences, as JSON and as text.
#include <fmt/format.h>

#include "apps/weir/limits/limits_plan.h"
#include "apps/weir/limits/plan_summary.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"

namespace weir::app {
namespace {

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

std::string PlannedText(const LevelRecord& record) {
  std::string text = FormatLimits(record.limits.limits);
  if (record.limits.on_unavailable)
    text += fmt::format(" {}", NameOf(*record.limits.on_unavailable));
  return text;
}

std::string PlannedText(const EntityRecord& record) {
  return record.entity.parent.value_or("-") + (record.entity.cascade ? " cascade" : "");
}

std::string PlannedText(std::monostate) { return ""; }

std::string PlannedText(const PlannedState& state) {
  return std::visit([](const auto& value) { return PlannedText(value); }, state);
}

Json PlannedJson(const LevelRecord& record) { return app::ToJson(record); }

Json PlannedJson(const EntityRecord& record) {
  const Entity& entity = record.entity;
  return {{"entity", entity.id},
          {"parent", entity.parent ? Json(*entity.parent) : Json()},
          {"cascade", entity.cascade},
          {"managed", record.managed}};
}

Json PlannedJson(std::monostate) { return {}; }

Json PlannedJson(const PlannedState& state) {
  return std::visit([](const auto& value) { return PlannedJson(value); }, state);
}

std::string FromTo(const std::string& live, const std::string& file) {
  if (live.empty() || live == file) return file;
  return file.empty() ? live : live + " -> " + file;
}

}  // namespace

Json ToJson(const Plan& plan) {
  Json json = SummaryOf(plan);
  for (const PlannedChange& planned : plan.changes) {
    json["changes"].push_back({{"action", WordsOf(planned.action).verb},
                               {"target", planned.target},
                               {"live", PlannedJson(planned.live)},
                               {"file", PlannedJson(planned.wanted)}});
  }
  return json;
}

std::string TextOf(const Plan& plan) {
  std::string text;
  for (const PlannedChange& planned : plan.changes) {
    const ActionWords words = WordsOf(planned.action);
    text += fmt::format("{} {} {}: {}\n", words.sign, words.verb, planned.target,
                        FromTo(PlannedText(planned.live), PlannedText(planned.wanted)));
  }
  return text + SummaryLineOf(plan);
}

Json ToJson(const std::vector<Difference>& differences) {
  Json json = {{"different", !differences.empty()}, {"differences", Json::array()}};
  for (const Difference& difference : differences) {
    json["differences"].push_back({{"target", difference.target},
                                   {"field", TextOrNull(difference.field)},
                                   {"live", TextOrNull(difference.live)},
                                   {"file", TextOrNull(difference.file)}});
  }
  return json;
}

std::string TextOf(const std::vector<Difference>& differences) {
  std::string text;
  for (const Difference& difference : differences) {
    const auto& [target, field, live, file] = difference;
    if (field.empty()) {
      text += fmt::format("{} only in the {}: {}\n", target, live.empty() ? "file" : "store",
                          live.empty() ? file : live);
    } else {
      text += fmt::format("{} {}: {} -> {}\n", target, field, live.empty() ? "-" : live,
                          file.empty() ? "-" : file);
    }
  }
  return text;
}

}  // namespace weir::app
