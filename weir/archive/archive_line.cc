#include "weir/archive/archive_line.h"

#include <optional>
#include <utility>

#include "weir/codec/iso_time.h"
#include "weir/codec/json_members.h"
#include "weir/model/ulid.h"

namespace weir {
namespace {

// Far deeper than the details that any writer writes.
constexpr int kDeepest = 64;

AuditDetail DetailIn(JsonValue json, int depth);

AuditDetail::Parts PartsIn(JsonObject object, int depth) {
  if (depth == kDeepest) throw UnexpectedJson{"the details are nested too deeply"};
  AuditDetail::Parts parts;
  ForMembers(object, [&](std::string_view name, JsonValue json) {
    std::string key(name);
    parts.insert_or_assign(std::move(key), DetailIn(json, depth + 1));
  });
  return parts;
}

AuditDetail::List ListIn(JsonArray array, int depth) {
  if (depth == kDeepest) throw UnexpectedJson{"the details are nested too deeply"};
  AuditDetail::List list;
  for (JsonValue json : array) list.push_back(DetailIn(json, depth + 1));
  return list;
}

AuditDetail NumberIn(JsonValue json) {
  const std::string_view token = json.raw_json_token();
  std::int64_t number = 0;
  if (json.get_int64().get(number) == simdjson::SUCCESS) return {number};
  const double checked = json.get_double();  // throws unless the token is a number
  static_cast<void>(checked);
  return {std::string(token.substr(0, token.find_last_not_of(" \t\r\n") + 1))};
}

AuditDetail DetailIn(JsonValue json, int depth) {
  switch (json.type()) {
    case simdjson::ondemand::json_type::object:
      return {PartsIn(json.get_object(), depth)};
    case simdjson::ondemand::json_type::array:
      return {ListIn(json.get_array(), depth)};
    case simdjson::ondemand::json_type::string:
      return {std::string(std::string_view(json.get_string()))};
    case simdjson::ondemand::json_type::boolean:
      return {bool(json.get_bool())};
    case simdjson::ondemand::json_type::null:
      if (!json.is_null()) throw UnexpectedJson{"a detail is not a JSON value"};
      return {};
    default:
      return NumberIn(json);
  }
}

std::optional<std::string> TextOrNull(JsonValue json) {
  if (json.is_null()) return std::nullopt;
  return std::string(std::string_view(json.get_string()));
}

void ReadMember(std::string_view name, JsonValue json, ArchivedEvent& read,
                std::optional<UnixMillis>& at) {
  AuditEvent& event = read.event;
  if (name == "event_id") event.id = TextOf(json);
  if (name == "entity_id") event.subject = TextOf(json);
  if (name == "action") event.action = TextOf(json);
  if (name == "timestamp") at = dynamo::ParseIso(TextOf(json));
  if (name == "principal") event.principal = TextOrNull(json);
  if (name == "resource") event.resource = TextOrNull(json);
  if (name == "namespace_id") read.namespace_id = TextOf(json);
  if (name == "details" && !json.is_null()) event.details = PartsIn(json.get_object(), 0);
}

}  // namespace

Result<ArchivedEvent> ReadArchivedEvent(std::string_view line) {
  ArchivedEvent read;
  std::optional<UnixMillis> at;
  WEIR_RETURN_IF_ERROR(ReadMembers(
      line, [&](std::string_view name, JsonValue json) { ReadMember(name, json, read, at); }));
  if (!at || read.event.action.empty() || read.event.subject.empty()) {
    return Fail(Code::kDataLoss, "entity_id, action or timestamp is missing");
  }
  if (!TimeOfUlid(read.event.id)) return Fail(Code::kDataLoss, "its event_id is not a ULID");
  read.event.at = *at;
  return read;
}

}  // namespace weir
