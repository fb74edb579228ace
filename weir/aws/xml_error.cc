#include "weir/aws/xml_error.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weir {
namespace {

constexpr std::size_t kLongestBody = 16 * 1024;
constexpr std::size_t kDeepest = 8;
constexpr std::string_view kXmlBlanks = " \t\r\n";

constexpr std::pair<std::string_view, char> kReferences[] = {
    {"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};

bool IsBlank(std::string_view text) { return text.find_first_not_of(kXmlBlanks) == text.npos; }

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ':' ||
         c == '_' || c == '-' || c == '.';
}

std::optional<char> CharOfEntity(std::string_view name) {
  if (name.size() > 1 && name.front() == '#') return '?';
  const auto* const known =
      std::ranges::find(kReferences, name, [](auto pair) { return pair.first; });
  return known == std::end(kReferences) ? std::nullopt : std::optional(known->second);
}

std::optional<std::string> DecodeEntities(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find('&'), text.size());
    decoded += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t end = text.find(';');
    const auto character = CharOfEntity(text.substr(1, end == text.npos ? end : end - 1));
    if (end == text.npos || !character) return std::nullopt;
    decoded += *character;
    text.remove_prefix(end + 1);
  }
  return decoded;
}

/// Parses a document tag by tag. Each step returns false if the document has something unsupported.
class XmlReader {
 public:
  explicit XmlReader(std::string_view rest) : rest_(rest) {}

  std::optional<XmlError> Read() {
    while (!IsBlank(rest_)) {
      if (!ReadTextAndTag()) return std::nullopt;
    }
    if (!open_.empty() || !code_) return std::nullopt;
    return XmlError{*code_, message_.value_or("")};
  }

 private:
  /// Reads the text up to the next tag, and this tag.
  bool ReadTextAndTag() {
    const std::size_t begin = rest_.find('<');
    const std::size_t end = rest_.find('>', begin);
    if (end == rest_.npos) return false;
    const std::string_view text = rest_.substr(0, begin);
    const std::string_view tag = rest_.substr(begin + 1, end - begin - 1);
    rest_.remove_prefix(end + 1);
    if (open_.empty() && !IsBlank(text)) return false;
    return tag.starts_with('/') ? CloseElement(tag.substr(1), text) : OpenElement(tag);
  }

  bool OpenElement(std::string_view tag) {
    const auto name_end = std::ranges::find_if_not(tag, IsNameCharacter);
    const std::string_view name(tag.begin(), name_end);
    const bool is_self_closing = tag.ends_with('/');
    const std::string_view attributes(name_end, tag.end() - (is_self_closing ? 1 : 0));
    if (name.empty() || attributes.find('<') != attributes.npos) return false;
    if (!attributes.empty() && kXmlBlanks.find(attributes.front()) == kXmlBlanks.npos) return false;
    if (std::exchange(had_root_, true) && open_.empty()) return false;
    if (open_.size() == kDeepest) return false;
    if (!is_self_closing) open_.push_back(name);
    is_leaf_ = !is_self_closing;
    return true;
  }

  bool CloseElement(std::string_view name, std::string_view text) {
    if (open_.empty() || open_.back() != name) return false;
    open_.pop_back();
    if (!std::exchange(is_leaf_, false) || !IsInError()) return true;
    if (name == "Code") return StoreFirst(code_, text);
    return name != "Message" || StoreFirst(message_, text);
  }

  /// Returns whether the innermost open element is an `Error` of one of the supported forms.
  bool IsInError() const {
    if (open_.empty() || open_.back() != "Error") return false;
    return open_.size() == 1 || open_.front() == "ErrorResponse" || open_.front() == "Response";
  }

  /// Decodes a text, and stores it if it is the first one.
  static bool StoreFirst(std::optional<std::string>& stored, std::string_view text) {
    const auto decoded = DecodeEntities(text);
    if (decoded && !stored) stored = decoded;
    return decoded.has_value();
  }

  std::string_view rest_;
  std::vector<std::string_view> open_;
  bool had_root_ = false;
  bool is_leaf_ = false;  ///< no other tag followed the last opened element
  std::optional<std::string> code_;
  std::optional<std::string> message_;
};

std::string_view WithoutDeclaration(std::string_view body) {
  body.remove_prefix(std::min(body.find_first_not_of(kXmlBlanks), body.size()));
  if (!body.starts_with("<?xml ")) return body;
  const std::size_t end = body.find("?>");
  return end == body.npos ? std::string_view() : body.substr(end + 2);
}

}  // namespace

std::optional<XmlError> ReadXmlError(std::string_view body) {
  if (body.size() > kLongestBody) return std::nullopt;
  return XmlReader(WithoutDeclaration(body)).Read();
}

}  // namespace weir
