// Plans and differences, for programs and for people.
#include <fmt/format.h>

#include "apps/weir/json.h"
#include "apps/weir/limits_plan.h"
#include "apps/weir/plan_words.h"
#include "apps/weir/text.h"

namespace weir::app {
namespace {

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

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
                               {"live", TextOrNull(planned.live)},
                               {"file", TextOrNull(planned.file)}});
  }
  return json;
}

std::string TextOf(const Plan& plan) {
  std::string text;
  for (const PlannedChange& planned : plan.changes) {
    const ActionWords words = WordsOf(planned.action);
    text += fmt::format("{} {} {}: {}\n", words.sign, words.verb, planned.target,
                        FromTo(planned.live, planned.file));
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
