#include "weir/sim/kinesis/kinesis_body.h"

#include <absl/strings/escaping.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr std::string_view kJsonType = "application/x-amz-json-1.1";
constexpr std::string_view kCborType = "application/x-amz-cbor-1.1";
/// The only member that is a blob, in requests and in responses.
constexpr std::string_view kBlob = "Data";

[[noreturn]] void RefuseBody(std::string why) {
  throw Refusal{.type = "SerializationException", .message = std::move(why)};
}

std::string_view ContentTypeOf(const HttpRequest& request) {
  const auto found = std::ranges::find(request.headers, "content-type", &HttpHeader::name);
  return found == request.headers.end() ? std::string_view() : found->value;
}

json Unescaped(const std::string& base64) {
  std::string bytes;
  if (!absl::Base64Unescape(base64, &bytes)) RefuseBody("Data is not base64");
  return json::binary(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

void ReadBlobs(json& tree) {
  if (tree.is_array()) {
    for (json& part : tree) ReadBlobs(part);
  }
  if (!tree.is_object()) return;
  for (auto& [name, part] : tree.items()) {
    if (name == kBlob && part.is_string()) {
      part = Unescaped(part.get_ref<const std::string&>());
    } else {
      ReadBlobs(part);
    }
  }
}

void WriteBlobs(json& tree) {
  if (tree.is_binary()) {
    const auto& bytes = tree.get_binary();
    tree = absl::Base64Escape({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } else if (tree.is_structured()) {
    for (json& part : tree) WriteBlobs(part);
  }
}

}  // namespace

BodyType BodyTypeOf(const HttpRequest& request) {
  return ContentTypeOf(request) == kCborType ? BodyType::kCbor : BodyType::kJson;
}

json ReadKinesisBody(const HttpRequest& request) {
  const bool is_cbor = BodyTypeOf(request) == BodyType::kCbor;
  if (!is_cbor && ContentTypeOf(request) != kJsonType) RefuseBody("unknown content-type");
  json tree = is_cbor ? json::from_cbor(request.body, true, false, json::cbor_tag_handler_t::ignore)
                      : json::parse(request.body, nullptr, false);
  if (!tree.is_object()) RefuseBody("the body is not an object");
  if (!is_cbor) ReadBlobs(tree);
  return tree;
}

HttpResponse WriteKinesisBody(BodyType type, int status, json tree) {
  HttpResponse response{.status = status, .headers = {}, .body = {}};
  const bool is_cbor = type == BodyType::kCbor;
  response.headers.push_back({"content-type", std::string(is_cbor ? kCborType : kJsonType)});
  if (tree.is_null()) return response;
  if (is_cbor) {
    json::to_cbor(tree, response.body);
  } else {
    WriteBlobs(tree);
    response.body = tree.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  return response;
}

HttpResponse WriteKinesisBody(BodyType type, const Refusal& refusal) {
  json tree = refusal.more;
  tree["__type"] = refusal.type;
  tree["message"] = refusal.message;
  return WriteKinesisBody(type, refusal.status, std::move(tree));
}

}  // namespace weir::sim
