#include "weir/kinesis/json_members.h"

#include "weir/aws/json_text.h"

namespace weir::kinesis {

void AppendMember(std::string& out, std::string_view name, std::string_view text) {
  AppendJson(out, name);
  out += ':';
  AppendJson(out, text);
}

void AppendStream(std::string& out, const StreamAddress& stream) {
  if (stream.arn.empty()) {
    AppendMember(out, "StreamName", stream.name);
  } else {
    AppendMember(out, "StreamARN", stream.arn);
  }
}

std::string TextOf(JsonValue json) {
  if (json.is_null()) return "";
  return std::string(std::string_view(json.get_string()));
}

tl::unexpected<Error> Malformed(std::string_view operation, std::string_view what) {
  return Fail(Code::kDataLoss, fmt::format("answer to {}: {}", operation, what));
}

}  // namespace weir::kinesis
