#include "weir/model/namespace_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/model/identifier.h"
#include "weir/model/quoted.h"

namespace weir {
namespace {

constexpr std::string_view kMark = "id:";
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

Status CheckNamespaceId(std::string_view id) {
  if (id == "_") {
    return Fail(Code::kInvalidArgument, "namespace id '_' is reserved for the table itself");
  }
  const bool is_valid = !id.empty() && id.size() <= 64 && id.find_first_not_of(kBase64) == id.npos;
  if (is_valid) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("namespace id {}: expected 1 to 64 letters, digits, '_' and '-'", Quoted(id)));
}

std::optional<std::string_view> ParseIdReference(std::string_view name_or_id) {
  if (!name_or_id.starts_with(kMark)) return std::nullopt;
  return name_or_id.substr(kMark.size());
}

Status CheckNameOrId(std::string_view name_or_id) {
  const std::optional<std::string_view> id = ParseIdReference(name_or_id);
  return id ? CheckNamespaceId(*id) : CheckNamespace(name_or_id);
}

std::string FormatNamespaceId(std::uint64_t bytes) {
  std::string id;
  // 64 bits are ten groups of six bits, and four more bits, to which two zero bits are appended.
  for (int shift = 58; shift >= 0; shift -= 6) id += kBase64[(bytes >> shift) & 63];
  id += kBase64[(bytes << 2) & 63];
  return id;
}

std::string NewNamespaceId(const std::function<std::uint64_t()>& draw) {
  std::string id = FormatNamespaceId(draw());
  while (id.front() == '-') id = FormatNamespaceId(draw());
  return id;
}

}  // namespace weir
