// A file of rules, a line "---", and an event. Matching valid rules never fails, and errors are one
// line. A pattern that is also JSON means the same when it is written as JSON. The resource that an
// event reports as ended is a valid key. Without the line "---" the text is used as both.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "fuzz/require.h"
#include "weir/events/event_json.h"
#include "weir/events/event_rules.h"
#include "weir/store/reservation/reservation_checks.h"

namespace weir {
namespace {

constexpr UnixMillis kNow{1'767'225'600'013};
constexpr std::string_view kBetween = "\n---\n";

void CheckRule(const EventRule& rule) {
  Require(!rule.source.empty() && !rule.id.empty(), "a rule has a source and an id");
  Require(!rule.type || !rule.type->empty(), "a detail-type is not empty");
}

void CheckEvent(std::string_view text) {
  const auto event = ReadEvent(text);
  if (!event) return RequireRefusal(event.error());
  Require((*event)["source"].is_string(), "an event has a source");
  const auto again = ReadEvent(event->dump());
  Require(again.has_value() && *again == *event, "what was read reads back the same");
}

void CheckMatch(const EventRules& rules, std::string_view event) {
  const auto matched = MatchEvent(rules, event, kNow);
  if (!matched) return RequireRefusal(matched.error());
  if (!matched->ended) return;
  const EndedResource& ended = *matched->ended;
  Require(CheckResourceId(ended.resource_id).has_value(), "a store takes the id");
  Require(ended.ended_at <= kNow, "nothing ends after now");
}

/// Uses the text as the pattern of a rule that matches everything else, in two JSON forms.
void CheckAsPattern(std::string_view text, std::string_view event) {
  const auto pattern = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (pattern.is_discarded()) return;
  const auto rules = [](const std::string& json) {
    return ReadEventRules(
        fmt::format("{{\"rules\": [{{\"source\": s, \"id\": id, \"pattern\": {}}}]}}", json), "f");
  };
  const auto one = rules(pattern.dump());
  const auto other = rules(pattern.dump(1));
  Require(one.has_value() == other.has_value(), "blanks do not matter");
  if (!one) return RequireRefusal(one.error());
  const auto matched = MatchEvent(*one, event, kNow);
  const auto again = MatchEvent(*other, event, kNow);
  Require(matched.has_value() == again.has_value(), "the event is the same");
  Require(!matched || matched->ended.has_value() == again->ended.has_value(), "so is the answer");
}

void CheckInput(std::string_view text) {
  const auto between = text.find(kBetween);
  const bool is_both = between == text.npos;
  const std::string_view rules_text = text.substr(0, between);
  const std::string_view event = is_both ? text : text.substr(between + kBetween.size());
  CheckEvent(event);
  CheckAsPattern(rules_text, event);
  const auto rules = ReadEventRules(rules_text, "f.yaml");
  if (!rules) return RequireRefusal(rules.error());
  for (const EventRule& rule : rules->rules) CheckRule(rule);
  CheckMatch(*rules, event);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::CheckInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
