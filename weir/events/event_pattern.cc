#include "weir/events/event_pattern.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>
#include <span>

#include "weir/model/quoted.h"

namespace weir {
namespace {

using nlohmann::json;
using Names = std::span<const std::string>;

/// One character of a wildcard.
struct Symbol {
  bool is_star;
  char letter;
  std::size_t size;  ///< in bytes of the wildcard
};

Symbol SymbolAt(std::string_view wildcard) {
  const bool is_escape =
      wildcard.size() > 1 && wildcard[0] == '\\' && (wildcard[1] == '*' || wildcard[1] == '\\');
  if (is_escape) return {false, wildcard[1], 2};
  return {wildcard[0] == '*', wildcard[0], 1};
}

/// Returns whether the text matches the wildcard. If the text stops matching after a star, the star
/// takes one more character. Only the last star is retried, so the time is at most the product of
/// the two lengths.
bool MatchesWildcard(std::string_view wildcard, std::string_view text) {
  std::string_view after_star;
  std::string_view text_at_star;
  bool starred = false;
  while (!text.empty() || !wildcard.empty()) {
    const Symbol symbol = wildcard.empty() ? Symbol{false, '\0', 0} : SymbolAt(wildcard);
    if (symbol.is_star) {
      wildcard.remove_prefix(symbol.size);
      after_star = wildcard;
      text_at_star = text;
      starred = true;
    } else if (symbol.size > 0 && !text.empty() && text[0] == symbol.letter) {
      wildcard.remove_prefix(symbol.size);
      text.remove_prefix(1);
    } else {
      if (!starred || text_at_star.empty()) return false;
      text_at_star.remove_prefix(1);
      text = text_at_star;
      wildcard = after_star;
    }
  }
  return true;
}

PlainValue PlainOf(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  return std::monostate();
}

bool EqualFolded(std::string_view a, std::string_view b) {
  const auto fold = [](char c) { return absl::ascii_tolower(static_cast<unsigned char>(c)); };
  return std::ranges::equal(a, b, {}, fold, fold);
}

bool IsPlain(const json* value) { return value != nullptr && !value->is_structured(); }

bool Passes(const EqualsTest& test, const json& value) { return PlainOf(value) == test.value; }

bool Passes(const TextTest& test, const json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  switch (test.kind) {
    case TextTest::Kind::kPrefix:
      return text.starts_with(test.text);
    case TextTest::Kind::kSuffix:
      return text.ends_with(test.text);
    case TextTest::Kind::kEqualsIgnoreCase:
      return EqualFolded(text, test.text);
    case TextTest::Kind::kWildcard:
      return MatchesWildcard(test.text, text);
  }
  return false;
}

bool Passes(const ExistsTest& test, const json&) { return test.wanted; }

bool Passes(const NumericTest::Bound& bound, double number) {
  using enum NumericTest::Bound::Operator;
  switch (bound.op) {
    case kEqual:
      return number == bound.number;
    case kBelow:
      return number < bound.number;
    case kAtMost:
      return number <= bound.number;
    case kAbove:
      return number > bound.number;
    case kAtLeast:
      return number >= bound.number;
  }
  return false;
}

bool Passes(const NumericTest& test, const json& value) {
  return value.is_number() && std::ranges::all_of(test.bounds, [&value](const auto& bound) {
           return Passes(bound, value.get<double>());
         });
}

bool Passes(const AnythingButTest& test, const json& value) {
  return std::ranges::none_of(test.none_of, [&value](const auto& either) {
    return std::visit([&value](const auto& one) { return Passes(one, value); }, either);
  });
}

bool Passes(const ValueTest& test, const json& value) {
  return std::visit([&value](const auto& one) { return Passes(one, value); }, test);
}

/// Returns whether `holds` returns true for one of the parts to which the path leads. If it leads
/// to none, `holds` is called with null.
template <class Holds>
bool AnyAt(const json* part, Names path, const Holds& holds) {
  if (part != nullptr && part->is_array() && !part->empty()) {
    return std::ranges::any_of(*part,
                               [&](const json& element) { return AnyAt(&element, path, holds); });
  }
  if (path.empty()) return holds(part);
  if (part == nullptr || !part->is_object()) return holds(nullptr);
  const auto found = part->find(path.front());
  return AnyAt(found == part->end() ? nullptr : &*found, path.subspan(1), holds);
}

bool WantsAbsence(const ValueTest& test) {
  const auto* exists = std::get_if<ExistsTest>(&test);
  return exists != nullptr && !exists->wanted;
}

bool ValueMatches(const EventPattern& pattern, const json* part) {
  const auto passes = [&pattern](const json* value) {
    return IsPlain(value) && std::ranges::any_of(pattern.any_of, [value](const ValueTest& test) {
             return Passes(test, *value);
           });
  };
  if (AnyAt(part, pattern.path, passes)) return true;
  return std::ranges::any_of(pattern.any_of, WantsAbsence) && !AnyAt(part, pattern.path, IsPlain);
}

bool MatchesPart(const EventPattern& pattern, const json* part) {
  if (!pattern.any_of.empty()) return ValueMatches(pattern, part);
  return AnyAt(part, pattern.path, [&pattern](const json* at) {
    const auto matches = [at](const EventPattern& inner) { return MatchesPart(inner, at); };
    return std::ranges::all_of(pattern.all_of, matches) &&
           (pattern.one_of.empty() || std::ranges::any_of(pattern.one_of, matches));
  });
}

}  // namespace

Result<EventPath> ParseEventPath(std::string_view text) {
  EventPath path;
  for (const auto name : std::views::split(text, '.')) {
    path.emplace_back(name.begin(), name.end());
  }
  const bool is_whole = !text.empty() && std::ranges::find(path, "") == path.end();
  if (is_whole && !text.ends_with('.')) return path;
  return Fail(
      Code::kInvalidArgument,
      fmt::format("path {}: a name is empty; expected names with dots between them", Quoted(text)));
}

bool Matches(const EventPattern& pattern, const json& event) {
  return MatchesPart(pattern, &event);
}

bool Holds(const EventPredicate& predicate, const json& event) {
  const auto holds = [&event](const EventPredicate& other) { return Holds(other, event); };
  if (Matches(predicate.own, event)) return std::ranges::all_of(predicate.all_of, holds);
  return std::ranges::any_of(predicate.any_of, holds);
}

}  // namespace weir
