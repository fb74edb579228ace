#include "weir/rate_limiter_py/integer_attribute.h"

#include <fmt/format.h>

#include "weir/model/quoted.h"

namespace weir::rate_limiter_py {
namespace {

std::string ShownAttribute(const dynamo::Item& item, std::string_view attribute) {
  const auto found = item.find(attribute);
  if (found == item.end()) return "is missing";
  if (const auto* number = std::get_if<dynamo::Number>(&found->second.held)) return number->text;
  if (const auto* text = std::get_if<std::string>(&found->second.held)) {
    return fmt::format("the text {}", Quoted(*text));
  }
  return "neither a number nor a text";
}

}  // namespace

Error UnusableAttribute(const dynamo::Item& item, std::string_view attribute, std::string_view row,
                        std::string_view expected) {
  return {Code::kFailedPrecondition, fmt::format("{}: {}: {}; expected {}", row, attribute,
                                                 ShownAttribute(item, attribute), expected)};
}

Result<std::optional<std::int64_t>> ReadWhole(const dynamo::Item& item, std::string_view attribute,
                                              std::string_view row, const WholeRange& range) {
  if (!item.contains(attribute)) return std::nullopt;
  const std::optional<std::int64_t> number = dynamo::GetNumber(item, attribute);
  if (number && *number >= range.least && *number <= range.most) return number;
  return Fail(UnusableAttribute(
      item, attribute, row, fmt::format("a whole number from {} to {}", range.least, range.most)));
}

}  // namespace weir::rate_limiter_py
