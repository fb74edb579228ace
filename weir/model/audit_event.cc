#include "weir/model/audit_event.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/model/identifier.h"
#include "weir/model/quoted.h"
#include "weir/model/stored_text.h"

namespace weir {
namespace {

constexpr std::string_view kResourceMark = "$RESOURCE:";
constexpr std::size_t kLongestArn = 2048;

constexpr TextRule kDetailName = {.what = "name of an audit detail", .longest = 256};
constexpr TextRule kDetailText = {.what = "text of an audit detail",
                                  .longest = kLongestDetail,
                                  .may_be_empty = true,
                                  .may_have_lines = true};

// Checks the details of one event against the bounds on their nesting and their total length.
class DetailCheck {
 public:
  Status CheckParts(const AuditDetail::Parts& parts) {
    WEIR_RETURN_IF_ERROR(EnterLevel());
    for (const auto& [name, part] : parts) {
      WEIR_RETURN_IF_ERROR(CheckDetailText(kDetailName, name));
      WEIR_RETURN_IF_ERROR(CheckDetail(part));
    }
    --depth_;
    return {};
  }

 private:
  Status CheckDetail(const AuditDetail& detail) {
    if (const auto* text = std::get_if<std::string>(&detail.value))
      return CheckDetailText(kDetailText, *text);
    if (const auto* parts = std::get_if<AuditDetail::Parts>(&detail.value))
      return CheckParts(*parts);
    if (const auto* list = std::get_if<AuditDetail::List>(&detail.value)) return CheckList(*list);
    return {};
  }

  Status CheckList(const AuditDetail::List& list) {
    WEIR_RETURN_IF_ERROR(EnterLevel());
    for (const AuditDetail& detail : list) WEIR_RETURN_IF_ERROR(CheckDetail(detail));
    --depth_;
    return {};
  }

  Status EnterLevel() {
    if (++depth_ <= kDeepestDetail) return {};
    return Fail(Code::kInvalidArgument,
                fmt::format("audit details are nested deeper than {} levels", kDeepestDetail));
  }

  Status CheckDetailText(const TextRule& rule, std::string_view text) {
    WEIR_RETURN_IF_ERROR(CheckText(rule, text));
    bytes_ += text.size();
    if (bytes_ <= kLongestDetails) return {};
    return Fail(Code::kInvalidArgument,
                fmt::format("audit details have more than {} bytes", kLongestDetails));
  }

  std::size_t depth_ = 0;
  std::size_t bytes_ = 0;
};

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

Status CheckDetails(const AuditDetail::Parts& details) { return DetailCheck().CheckParts(details); }

Status CheckPrincipal(std::string_view principal) {
  if (!principal.starts_with("arn:")) return CheckAuthor(principal);
  const auto is_printable = [](char c) { return c > ' ' && c < '\x7f'; };
  if (principal.size() <= kLongestArn && std::ranges::all_of(principal, is_printable)) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("principal {}: expected an ARN of printable characters, at most {}",
                          Quoted(principal), kLongestArn));
}

}  // namespace weir
