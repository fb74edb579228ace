#include "weir/rules/id_template.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/model/quoted.h"
#include "weir/rules/rule.h"

namespace weir::rules {
namespace {

/// Between the keys and values of an entity that a rule makes for itself.
constexpr char kOwnSeparator = ':';
/// The bytes that may begin the text between two values. An escape sequence has none of them,
/// except the ':' of kEscape, which follows a '.'.
constexpr std::string_view kSeparators = "_-:@/";

std::string_view WordOf(IdKind kind) { return kind == IdKind::kEntity ? "entity" : "resource"; }

tl::unexpected<Error> RefuseTemplate(std::string_view what, std::string_view right) {
  return Fail(Code::kInvalidArgument, fmt::format("{}; expected {}", what, right));
}

}  // namespace

Status IdTemplate::AddLiteral(std::string_view literal, bool is_before_value) {
  for (const char byte : literal) {
    if (AllowsByte(kind_, byte)) continue;
    return RefuseTemplate(fmt::format("a template of {} has {}",
                                      kind_ == IdKind::kEntity ? "an entity" : "a resource",
                                      Quoted(std::string_view(&byte, 1))),
                          kind_ == IdKind::kEntity
                              ? "letters, digits, _.-:@ and keys in braces, such as {tenant}"
                              : "letters, digits, _.-/: and keys in braces, such as {tenant}");
  }
  const bool has_escape = literal.find(kEscape) != std::string_view::npos;
  if (has_escape || (literal.ends_with('.') && is_before_value)) {
    return RefuseTemplate(
        fmt::format("the template part {} can be read as an escape sequence", Quoted(literal)),
        "a template without '.:', and without '.' before a key in braces");
  }
  const bool is_after_value = !pieces_.empty() && pieces_.back().entry != kNoEntry;
  if (is_after_value && is_before_value) {
    if (literal.empty() || kSeparators.find(literal[0]) == std::string_view::npos) {
      return RefuseTemplate(
          fmt::format("two values with {} between them",
                      literal.empty() ? "nothing" : Quoted(literal)),
          fmt::format("text between them that begins with one of {}", kSeparators));
    }
    pieces_.back().separator = literal[0];
  }
  pieces_.push_back({.literal = std::string(literal)});
  return {};
}

Status IdTemplate::AddValue(std::string_view key, const std::vector<EntryPattern>& match) {
  const auto has_key = [key](const EntryPattern& entry) { return entry.key == key; };
  const auto number = std::ranges::count_if(match, has_key);
  if (number != 1) {
    return RefuseTemplate(fmt::format("the template names {}, which the pattern {}", Quoted(key),
                                      number == 0 ? "does not have" : "has more than once"),
                          "a key that the pattern has once");
  }
  const auto found = std::ranges::find_if(match, has_key);
  pieces_.back().entry = static_cast<std::size_t>(found - match.begin());
  return {};
}

Result<IdTemplate> IdTemplate::Parse(IdKind kind, std::string_view text,
                                     const std::vector<EntryPattern>& match) {
  IdTemplate result(kind);
  result.text_ = text;
  if (text.empty()) {
    return RefuseTemplate(fmt::format("the {} is empty", WordOf(kind)),
                          "text and keys in braces, such as {tenant}");
  }
  for (std::string_view rest = text; !rest.empty();) {
    const auto open_brace = rest.find('{');
    WEIR_RETURN_IF_ERROR(result.AddLiteral(rest.substr(0, open_brace), open_brace != rest.npos));
    if (open_brace == rest.npos) break;
    rest.remove_prefix(open_brace + 1);
    const auto close_brace = rest.find('}');
    if (close_brace == rest.npos) return RefuseTemplate("a '{' without '}'", "a key in braces");
    WEIR_RETURN_IF_ERROR(result.AddValue(rest.substr(0, close_brace), match));
    rest.remove_prefix(close_brace + 1);
  }
  return result;
}

std::string IdTemplate::Expand(Descriptor descriptor) const {
  std::size_t bytes = 0;
  for (const Piece& piece : pieces_) {
    bytes += piece.literal.size();
    if (piece.entry != kNoEntry) bytes += descriptor[piece.entry].value.size();
  }
  std::string text;
  text.reserve(bytes);
  for (const Piece& piece : pieces_) {
    text += piece.literal;
    if (piece.entry == kNoEntry) continue;
    AppendEscaped(text, kind_, descriptor[piece.entry].value, piece.separator);
  }
  return FinishId(kind_, std::move(text));
}

FixedText IdTemplate::FixedTextFor(const std::vector<EntryPattern>& match) const {
  const auto is_variable = [&](const Piece& piece) {
    return piece.entry != kNoEntry && match[piece.entry].kind == EntryPattern::Kind::kPrefix;
  };
  FixedText fixed{.is_whole = std::ranges::none_of(pieces_, is_variable)};
  for (const Piece& piece : pieces_) {
    fixed.prefix += piece.literal;
    if (piece.entry == kNoEntry) continue;
    std::string_view text = match[piece.entry].text;
    // Whether a '.' at the end is escaped depends on the next byte, which is not fixed.
    if (is_variable(piece) && text.ends_with('.')) text.remove_suffix(1);
    AppendEscaped(fixed.prefix, kind_, text, piece.separator);
    if (is_variable(piece)) break;
  }
  if (fixed.is_whole) return fixed;
  const auto after_last = std::find_if(pieces_.rbegin(), pieces_.rend(), is_variable).base();
  for (auto piece = after_last; piece != pieces_.end(); ++piece) {
    fixed.suffix += piece->literal;
    if (piece->entry == kNoEntry) continue;
    AppendEscaped(fixed.suffix, kind_, match[piece->entry].text, piece->separator);
  }
  return fixed;
}

IdTemplate OwnEntity(const std::vector<EntryPattern>& match) {
  IdTemplate result(IdKind::kEntity);
  std::string literal(kOwnPrefix);
  for (std::size_t i = 0; i < match.size(); ++i) {
    const EntryPattern& entry = match[i];
    if (i > 0) literal += kOwnSeparator;
    AppendEscaped(literal, IdKind::kEntity, entry.key, kOwnSeparator);
    literal += kOwnSeparator;
    if (entry.kind == EntryPattern::Kind::kPrefix && !entry.shared) {
      result.pieces_.push_back({std::exchange(literal, {}), i, kOwnSeparator});
      continue;
    }
    AppendEscaped(literal, IdKind::kEntity, entry.text, kOwnSeparator);
    if (entry.shared) literal += kAnyValue;
  }
  result.pieces_.push_back({.literal = std::move(literal)});
  return result;
}

IdTemplate OwnResource(std::string_view domain) {
  IdTemplate result(IdKind::kResource);
  std::string literal;
  AppendEscaped(literal, IdKind::kResource, domain, 0);
  result.pieces_.push_back({.literal = FinishId(IdKind::kResource, std::move(literal))});
  return result;
}

}  // namespace weir::rules
