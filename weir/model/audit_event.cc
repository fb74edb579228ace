#include "weir/model/audit_event.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/model/identifier.h"
#include "weir/model/quoted.h"

namespace weir {
namespace {

constexpr std::string_view kResourceMark = "$RESOURCE:";
constexpr std::size_t kLongestArn = 2048;

}  // namespace

std::string ResourceSubject(std::string_view resource) {
  return fmt::format("{}{}", kResourceMark, resource);
}

Status CheckSubject(std::string_view subject) {
  if (subject == kSystemSubject) return {};
  if (subject.starts_with(kResourceMark)) {
    return CheckResource(subject.substr(kResourceMark.size()));
  }
  return CheckEntityId(subject);
}

Status CheckPrincipal(std::string_view principal) {
  if (!principal.starts_with("arn:")) return CheckEntityId(principal);
  const auto is_printable = [](char c) { return c > ' ' && c < '\x7f'; };
  if (principal.size() <= kLongestArn && std::ranges::all_of(principal, is_printable)) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("principal {}: right would be an ARN of printable characters, at most {}",
                          Quoted(principal), kLongestArn));
}

}  // namespace weir
