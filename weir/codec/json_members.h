// Reads JSON objects member by member, without converting the members that are not needed.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

// All functions that read these types throw simdjson_error, which does not leave ReadMembers. Texts
// are views of data that ReadMembers owns.
using JsonValue = simdjson::ondemand::value;
using JsonObject = simdjson::ondemand::object;
using JsonArray = simdjson::ondemand::array;

/// Thrown like simdjson_error if the JSON is valid but not as expected.
struct UnexpectedJson {
  std::string what;
};

/// Returns a text; empty for null.
std::string_view TextOf(JsonValue json);

/// Calls `read(name, value)` for each member of the object.
template <class Read>
void ForMembers(JsonObject object, const Read& read) {
  for (simdjson::ondemand::field member : object) {
    const std::string_view name = member.unescaped_key();
    read(name, member.value());
  }
}

namespace internal {

/// Returns kDataLoss with the index of the byte that the parser has reached.
tl::unexpected<Error> StoppedIn(simdjson::ondemand::document& json,
                                const simdjson::padded_string& text, std::string_view why);
/// Returns the same error if there are bytes after the object.
Status EndedIn(simdjson::ondemand::document& json, const simdjson::padded_string& text);

}  // namespace internal

/// Calls `read(name, value)` for each member of the object in `body`. Returns kDataLoss, with the
/// index of the byte at which parsing stopped, if `body` is not one object or `read` throws as
/// described above.
template <class Read>
Status ReadMembers(std::string_view body, const Read& read) {
  simdjson::ondemand::parser parser;
  const simdjson::padded_string text(body);
  simdjson::ondemand::document json;
  if (const auto fault = parser.iterate(text).get(json)) {
    return Fail(Code::kDataLoss, fmt::format("byte 0: {}", simdjson::error_message(fault)));
  }
  try {
    ForMembers(json.get_object(), read);
  } catch (const simdjson::simdjson_error& error) {
    return internal::StoppedIn(json, text, error.what());
  } catch (const UnexpectedJson& unexpected) {
    return internal::StoppedIn(json, text, unexpected.what);
  }
  return internal::EndedIn(json, text);
}

}  // namespace weir
