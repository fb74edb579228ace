// The bodies of calls on Kinesis, member by member. For this room alone.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <string>
#include <string_view>
#include <utility>

#include "weir/base/result.h"
#include "weir/kinesis/wire.h"

namespace weir::kinesis {

using JsonValue = simdjson::ondemand::value;

/// `"name":"text"`.
void AppendMember(std::string& out, std::string_view name, std::string_view text);
/// The member that names the stream.
void AppendStream(std::string& out, const StreamAddress& stream);

/// Throws simdjson_error, as all that reads a JsonValue. Empty for null.
std::string TextOf(JsonValue json);

/// kDataLoss: what is wrong with the answer of that operation.
tl::unexpected<Error> Malformed(std::string_view operation, std::string_view what);

/// Hands each member of an object to `read` by its name. Throws simdjson_error.
template <class Read>
void ForMembers(simdjson::ondemand::object object, const Read& read) {
  for (simdjson::ondemand::field member : object) {
    const std::string name(std::string_view(member.unescaped_key()));
    read(name, member.value());
  }
}

/// The same for the body of an answer; what is thrown becomes kDataLoss.
template <class Read>
Status ReadMembers(std::string_view operation, std::string_view body, const Read& read) {
  try {
    simdjson::ondemand::parser parser;
    const simdjson::padded_string padded(body);
    simdjson::ondemand::document answer = parser.iterate(padded);
    ForMembers(answer.get_object(), read);
    return {};
  } catch (const simdjson::simdjson_error& error) {
    return Malformed(operation, error.what());
  }
}

}  // namespace weir::kinesis
