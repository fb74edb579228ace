#include "weir/sim/dynamodb/dynamo_request.h"

#include <algorithm>
#include <map>

namespace weir::sim {
namespace {

using nlohmann::json;

/// AWS prefixes an error's type with the namespace of the component that refused the request.
std::string FullType(const std::string& type) {
  if (type == "ValidationException") return "com.amazon.coral.validate#" + type;
  if (type == "ThrottlingException") return "com.amazon.coral.availability#" + type;
  if (type == "UnknownOperationException" || type == "SerializationException") {
    return "com.amazon.coral.service#" + type;
  }
  return "com.amazonaws.dynamodb.v20120810#" + type;
}

HttpResponse Respond(int status, const json& body) {
  HttpResponse response{.status = status, .headers = {}, .body = body.dump()};
  response.headers.push_back({"content-type", "application/x-amz-json-1.0"});
  return response;
}

}  // namespace

void RefuseInvalid(std::string message) {
  throw Refusal{.type = "ValidationException", .message = std::move(message)};
}

HttpResponse ToResponse(const json& response) { return Respond(200, response); }

HttpResponse ToResponse(const Refusal& refusal) {
  json body = refusal.more;
  body["__type"] = FullType(refusal.type);
  const bool modelled_in_upper_case = refusal.type == "TransactionCanceledException" ||
                                      refusal.type == "SerializationException" ||
                                      refusal.type == "IdempotentParameterMismatchException";
  body[modelled_in_upper_case ? "Message" : "message"] = refusal.message;
  return Respond(refusal.status, body);
}

RequestFields::RequestFields(const json& body, std::initializer_list<std::string_view> known)
    : json_(body) {
  if (!json_.is_object()) RefuseInvalid("a structure of the request is not an object");
  for (const auto& [name, value] : json_.items()) {
    if (!std::ranges::count(known, name)) RefuseInvalid("not simulated: the field " + name);
  }
}

const json* RequestFields::Find(std::string_view name) const {
  const auto found = json_.find(name);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

const json& RequestFields::Get(std::string_view name) const {
  if (const json* found = Find(name)) return *found;
  RefuseInvalid("1 validation error detected: Value null at '" + std::string(name) +
                "' failed to satisfy constraint: Member must not be null");
}

std::string RequestFields::Text(std::string_view name) const {
  const json& found = Get(name);
  if (!found.is_string()) RefuseInvalid(std::string(name) + " must be a string");
  return found.get<std::string>();
}

std::string RequestFields::TextOr(std::string_view name, std::string_view otherwise) const {
  return Has(name) ? Text(name) : std::string(otherwise);
}

bool RequestFields::BoolOr(std::string_view name, bool otherwise) const {
  const json* found = Find(name);
  if (found == nullptr) return otherwise;
  if (!found->is_boolean()) RefuseInvalid(std::string(name) + " must be true or false");
  return found->get<bool>();
}

Item RequestFields::ItemOf(std::string_view name) const { return OrRefuse(ReadItem(Get(name))); }

const json& RequestFields::List(std::string_view name) const {
  const json& found = Get(name);
  if (!found.is_array()) RefuseInvalid(std::string(name) + " must be a list");
  return found;
}

std::string RequestFields::Choice(std::string_view name,
                                  std::initializer_list<std::string_view> choices) const {
  const std::string text = TextOr(name, *choices.begin());
  if (std::ranges::count(choices, text)) return text;
  RefuseInvalid("1 validation error detected: Value '" + text + "' at '" + std::string(name) +
                "' failed to satisfy constraint: Member must satisfy enum value set");
}

Placeholders RequestFields::ReadPlaceholders() const {
  std::map<std::string, std::string> names;
  if (const json* found = Find("ExpressionAttributeNames")) {
    if (found->empty()) RefuseInvalid("ExpressionAttributeNames must not be empty");
    for (const auto& [name, attribute] : found->items()) {
      if (!name.starts_with('#') || name.size() < 2 || !attribute.is_string()) {
        RefuseInvalid("ExpressionAttributeNames contains invalid key: Syntax error; key: \"" +
                      name + "\"");
      }
      names.emplace(name, attribute.get<std::string>());
    }
  }
  Item values;
  if (const json* found = Find("ExpressionAttributeValues")) {
    if (found->empty()) RefuseInvalid("ExpressionAttributeValues must not be empty");
    values = OrRefuse(ReadItem(*found));
  }
  for (const auto& [name, value] : values) {
    if (name.starts_with(':') && name.size() > 1) continue;
    RefuseInvalid("ExpressionAttributeValues contains invalid key: Syntax error; key: \"" + name +
                  "\"");
  }
  return Placeholders(std::move(names), std::move(values));
}

}  // namespace weir::sim
