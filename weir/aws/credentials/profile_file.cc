#include "weir/aws/credentials/profile_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir {
namespace {

constexpr std::string_view kBlanks = " \t\r\f\v";

bool IsBlank(char c) { return kBlanks.find(c) != std::string_view::npos; }
bool BeginsComment(char c) { return c == '#' || c == ';'; }

std::string_view TrimBlanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// Trims the text and removes a comment that follows a blank.
std::string_view WithoutComment(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (BeginsComment(text[i]) && IsBlank(text[i - 1])) return TrimBlanks(text.substr(0, i));
  }
  return TrimBlanks(text);
}

std::string ToLower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

/// Returns "a b" for the title "profile a b" and the keyword "profile", with or without quotes; an
/// empty text if the title does not begin with the keyword.
std::string_view NameAfter(std::string_view keyword, std::string_view title) {
  if (!title.starts_with(keyword)) return {};
  title.remove_prefix(keyword.size());
  if (title.empty() || !IsBlank(title.front())) return {};
  title = TrimBlanks(title);
  const bool quoted = title.size() >= 2 && title.front() == title.back() &&
                      (title.front() == '"' || title.front() == '\'');
  return quoted ? title.substr(1, title.size() - 2) : title;
}

class Reader {
 public:
  Reader(ProfileFileKind kind, std::string_view file) : kind_(kind), file_(file) {}

  Result<ProfileFile> Read(std::string_view text) {
    while (!text.empty()) {
      ++line_;
      const std::size_t end = std::min(text.find('\n'), text.size());
      WEIR_RETURN_IF_ERROR(ReadLine(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(read_);
  }

 private:
  Status ReadLine(std::string_view line) {
    const std::string_view content = TrimBlanks(line);
    if (content.empty() || BeginsComment(content.front())) return {};
    if (line.front() == '[') return BeginSection(content);
    if (section_ == Section::kIgnored) return {};
    if (section_ == Section::kNowhere) return FormatError("a setting before the first [section]");
    return IsBlank(line.front()) ? ContinueSetting(line) : BeginSetting(line);
  }

  Status BeginSection(std::string_view line) {
    const std::size_t end = line.find(']');
    if (end == std::string_view::npos) return FormatError("the ']' of a [section] is missing");
    const std::string_view after = TrimBlanks(line.substr(end + 1));
    if (!after.empty() && !BeginsComment(after.front()))
      return FormatError("text after a [section]");
    setting_.clear();
    EnterSection(TrimBlanks(line.substr(1, end - 1)));
    return {};
  }

  /// Makes the section with this title the current one. Sections of other kinds are ignored.
  void EnterSection(std::string_view title) {
    ProfileSections* sections = &read_.profiles;
    std::string_view name = title;
    if (kind_ == ProfileFileKind::kConfig && title != "default") {
      name = NameAfter("profile", title);
      if (name.empty()) {
        sections = &read_.services;
        name = NameAfter("services", title);
      }
    }
    section_ = name.empty() ? Section::kIgnored : Section::kSection;
    if (!name.empty()) settings_ = &(*sections)[std::string(name)];
  }

  Status BeginSetting(std::string_view line) { return SetSetting(line, ""); }

  /// Reads an indented line: a nested setting, or more of the value above it.
  Status ContinueSetting(std::string_view line) {
    if (setting_.empty()) return FormatError("an indented line that belongs to no setting");
    if (is_parent_) return SetSetting(line, setting_ + ".");
    if (IsStored(setting_)) (*settings_)[setting_].append("\n").append(WithoutComment(line));
    return {};
  }

  /// Stores a `name = value` under the name with the prefix.
  Status SetSetting(std::string_view line, const std::string& prefix) {
    const std::size_t equals = line.find('=');
    const std::string name = ToLower(TrimBlanks(line.substr(0, equals)));
    if (equals == std::string_view::npos || name.empty())
      return FormatError("expected name = value");
    const std::string_view value = WithoutComment(line.substr(equals + 1));
    if (prefix.empty()) {
      setting_ = name;
      is_parent_ = value.empty();
    }
    if (IsStored(prefix) && IsStored(name)) (*settings_)[prefix + name] = value;
    return {};
  }

  static bool IsStored(std::string_view name) { return !name.starts_with("aws_"); }

  tl::unexpected<Error> FormatError(std::string_view what) const {
    return Fail(Code::kInvalidArgument, fmt::format("{} line {}: {}", file_, line_, what));
  }

  enum class Section { kNowhere, kIgnored, kSection };

  const ProfileFileKind kind_;
  const std::string_view file_;
  ProfileFile read_;
  int line_ = 0;
  Section section_ = Section::kNowhere;
  ProfileSettings* settings_ = nullptr;  ///< the settings of the current section
  std::string setting_;                  ///< the name of the last setting that was not indented
  bool is_parent_ = false;  ///< the value of setting_ is empty: nested settings may follow
};

}  // namespace

Result<ProfileFile> ParseProfileFile(std::string_view text, ProfileFileKind kind,
                                     std::string_view file) {
  return Reader(kind, file).Read(text);
}

}  // namespace weir
