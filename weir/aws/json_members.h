// Objects of JSON, read member by member; nothing is made of members that nobody asks for.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <string>
#include <string_view>

#include "weir/aws/failure.h"
#include "weir/base/result.h"

namespace weir {

// All that reads these throws simdjson_error, which does not leave ReadMembers. Texts are views of
// what ReadMembers holds.
using JsonValue = simdjson::ondemand::value;
using JsonObject = simdjson::ondemand::object;
using JsonArray = simdjson::ondemand::array;

/// Thrown in the same way where JSON is good and still not what is expected.
struct UnexpectedJson {
  std::string what;
};

/// Empty for null.
std::string_view TextOf(JsonValue json);

/// Hands each member of the object to `read(name, value)`.
template <class Read>
void ForMembers(JsonObject object, const Read& read) {
  for (simdjson::ondemand::field member : object) {
    const std::string_view name = member.unescaped_key();
    read(name, member.value());
  }
}

namespace internal {

/// kDataLoss, with the byte that was reached.
tl::unexpected<Error> StoppedIn(simdjson::ondemand::document& json,
                                const simdjson::padded_string& text, std::string_view why);
/// The same, if the object is not all there is.
Status EndedIn(simdjson::ondemand::document& json, const simdjson::padded_string& text);

}  // namespace internal

/// Hands each member of the object that `body` is to `read(name, value)`. kDataLoss, with the byte
/// where reading stopped, where it is no such object or `read` throws as said above.
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

/// The same for the answer to a call: its error says to which.
template <class Read>
Status ReadAnswer(std::string_view operation, std::string_view body, const Read& read) {
  const Status status = ReadMembers(body, read);
  if (!status) return MalformedAnswer(operation, status.error().message);
  return {};
}

}  // namespace weir
