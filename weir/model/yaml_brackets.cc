#include "weir/model/yaml_brackets.h"

#include <algorithm>
#include <vector>

namespace weir {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kEndsOfName = " \t\r\n,[]{}";  // of an anchor or a tag

// A text with more open brackets is nested too deeply anyway.
constexpr std::size_t kMaxOpen = 1'000;

bool IsOneOf(char c, std::string_view characters) {
  return characters.find(c) != std::string_view::npos;
}

/// Walks over a flow mapping or sequence. Comments and quoted texts may contain any bracket.
class FlowWalk {
 public:
  explicit FlowWalk(std::string_view text) : text_(text) {}

  std::optional<OpenBracket> FindOpen() {
    while (at_ < text_.size()) {
      if (open_.size() > kMaxOpen) return std::nullopt;
      const char c = text_[at_];
      if (IsOneOf(c, "}]")) {
        const char opening = c == '}' ? '{' : '[';
        if (open_.back().bracket != opening) return open_.back();
        open_.pop_back();
        if (open_.empty()) return std::nullopt;
      }
      Step(c);
    }
    const bool is_in_quote = at_ > text_.size();
    return is_in_quote ? std::nullopt : std::optional(open_.back());
  }

 private:
  static constexpr std::size_t kBeyondEnd = std::string_view::npos;

  /// Goes to the next character that matters. Goes beyond the end if a quote is open.
  void Step(char c) {
    if (IsOneOf(c, "{[")) open_.push_back({.bracket = c, .at = at_});
    if (c == '#' && IsOneOf(text_[at_ - 1], kBlanks)) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (is_at_start_ && IsOneOf(c, "\"'")) {
      at_ = EndOfQuote();
      is_at_start_ = false;
    } else if (is_at_start_ && IsOneOf(c, "&!")) {
      // A value follows an anchor or a tag.
      at_ = std::min(text_.find_first_of(kEndsOfName, at_), text_.size());
    } else {
      if (!IsOneOf(c, kBlanks)) is_at_start_ = PrecedesValue(c);
      ++at_;
    }
  }

  /// Returns true if a value may begin after this character, the present one. Within a plain text,
  /// ':' and '?' are characters like others.
  bool PrecedesValue(char c) const {
    if (!IsOneOf(c, ":?")) return IsOneOf(c, "{[,");
    const bool is_after_quote = at_ > 0 && IsOneOf(text_[at_ - 1], "\"'");
    return is_after_quote || at_ + 1 == text_.size() || IsOneOf(text_[at_ + 1], kBlanks);
  }

  /// Returns the index after the quoted text that begins here.
  std::size_t EndOfQuote() const {
    const char quote = text_[at_];
    for (std::size_t i = at_ + 1; i < text_.size(); ++i) {
      const bool is_escape = quote == '"' ? text_[i] == '\\' : text_.substr(i).starts_with("''");
      if (is_escape) {
        ++i;
      } else if (text_[i] == quote) {
        return i + 1;
      }
    }
    return kBeyondEnd;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool is_at_start_ = true;  ///< a value may begin here: the last character before blanks allows it
  std::vector<OpenBracket> open_;
};

}  // namespace

std::optional<OpenBracket> FindOpenBracket(std::string_view text) {
  return FlowWalk(text).FindOpen();
}

}  // namespace weir
