#include "weir/events/event_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "weir/model/quoted.h"

namespace weir {
namespace {

using nlohmann::json;

tl::unexpected<Error> Refuse(std::string_view what, std::string_view right) {
  return Fail(Code::kInvalidArgument, fmt::format("event: {}; right would be {}", what, right));
}

bool IsText(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string();
}

Result<json> ReadObject(std::string_view text) {
  if (text.size() > kMaxEventBytes) {
    return Refuse(fmt::format("{} bytes", text.size()), fmt::format("at most {}", kMaxEventBytes));
  }
  bool too_deep = false;
  const auto bound = [&too_deep](int depth, json::parse_event_t, json&) {
    too_deep = too_deep || depth > kMaxEventDepth;
    return !too_deep;
  };
  json event = json::parse(text, bound, /*allow_exceptions=*/false);
  if (too_deep) {
    return Refuse("nested too deep", fmt::format("at most {} levels", kMaxEventDepth));
  }
  if (event.is_object()) return event;
  return Refuse("no JSON object: " + Quoted(text), "an event of EventBridge");
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
  return Refuse("no source", "a text such as \"aws.emr\" under the key source");
}

}  // namespace weir
