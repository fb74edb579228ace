#include "weir/events/event_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "weir/model/quoted.h"

namespace weir {
namespace {

using nlohmann::json;

tl::unexpected<Error> NotAnEvent(std::string_view what, std::string_view right) {
  return Fail(Code::kInvalidArgument, fmt::format("event: {}; expected {}", what, right));
}

bool IsText(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string();
}

/// Counts the brackets outside of strings. The parser's callback reports the depth too, but makes
/// the time quadratic in the number of objects in a list.
bool IsTooDeep(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_text && c == '\\') ++at;
    if (c == '"') in_text = !in_text;
    if (in_text) continue;
    if ((c == '{' || c == '[') && ++depth > kMaxEventDepth) return true;
    if (c == '}' || c == ']') --depth;
  }
  return false;
}

Result<json> ReadObject(std::string_view text) {
  if (text.size() > kMaxEventBytes) {
    return NotAnEvent(fmt::format("{} bytes", text.size()),
                      fmt::format("at most {}", kMaxEventBytes));
  }
  if (IsTooDeep(text)) {
    return NotAnEvent("nested too deep", fmt::format("at most {} levels", kMaxEventDepth));
  }
  json event = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (event.is_object()) return event;
  return NotAnEvent("no JSON object: " + Quoted(text), "an event of EventBridge");
}

bool IsEnvelope(const json& object) {
  return !object.contains("source") && IsText(object, "Message") && IsText(object, "Type") &&
         object["Type"] == "Notification";
}

}  // namespace

Result<json> ReadEvent(std::string_view text) {
  WEIR_ASSIGN_OR_RETURN(json event, ReadObject(text));
  if (IsEnvelope(event)) {
    WEIR_ASSIGN_OR_RETURN(event, ReadObject(event["Message"].get_ref<const std::string&>()));
  }
  if (IsText(event, "source") && !event["source"].get_ref<const std::string&>().empty()) {
    return event;
  }
  return NotAnEvent("no source", "a text such as \"aws.emr\" under the key source");
}

}  // namespace weir
