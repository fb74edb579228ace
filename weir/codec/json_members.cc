#include "weir/codec/json_members.h"

#include <algorithm>

namespace weir {
namespace {

// Returns the index of the parser's current byte; the size of the text if all of it was parsed.
std::size_t OffsetIn(simdjson::ondemand::document& json, const simdjson::padded_string& text) {
  const char* at = nullptr;
  if (json.current_location().get(at) != simdjson::SUCCESS) return text.size();
  return std::min(static_cast<std::size_t>(at - text.data()), text.size());
}

}  // namespace

std::string_view TextOf(JsonValue json) {
  if (json.is_null()) return {};
  return json.get_string();
}

namespace internal {

tl::unexpected<Error> StoppedIn(simdjson::ondemand::document& json,
                                const simdjson::padded_string& text, std::string_view why) {
  return Fail(Code::kDataLoss, fmt::format("byte {}: {}", OffsetIn(json, text), why));
}

Status EndedIn(simdjson::ondemand::document& json, const simdjson::padded_string& text) {
  if (OffsetIn(json, text) == text.size()) return {};
  return StoppedIn(json, text, "more than one object");
}

}  // namespace internal
}  // namespace weir
