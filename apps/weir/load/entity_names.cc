#include "apps/weir/load/entity_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "weir/model/identifier.h"

namespace weir::app {
namespace {

std::optional<std::uint64_t> ParseIndex(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

auto NotNames(std::string_view text) {
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}' is not a pattern: write one range, first not over last, like "
                          "user-{{1..1000}}, {} names at most",
                          text, EntityNames::kMost));
}

}  // namespace

Result<EntityNames::Part> EntityNames::ParsePart(std::string_view text) {
  const std::size_t open = text.find('{');
  if (open == std::string_view::npos) {
    return Part{.before = std::string(text), .after = {}, .digits = -1};
  }
  const std::size_t dots = text.find("..", open);
  const std::size_t close = text.find('}', open);
  if (close == std::string_view::npos || dots > close) return NotNames(text);
  const std::string_view low = text.substr(open + 1, dots - open - 1);
  const auto first = ParseIndex(low);
  const auto last = ParseIndex(text.substr(dots + 2, close - dots - 2));
  if (!first || !last || *first > *last || *last - *first >= kMost) return NotNames(text);
  return Part{.before = std::string(text.substr(0, open)),
              .after = std::string(text.substr(close + 1)),
              .first = *first,
              .count = *last - *first + 1,
              .digits = low.front() == '0' ? static_cast<int>(low.size()) : 0};
}

std::string EntityNames::NameIn(const Part& part, std::uint64_t offset) {
  if (part.digits < 0) return part.before;
  return fmt::format("{}{:0{}}{}", part.before, part.first + offset, part.digits, part.after);
}

Result<EntityNames> EntityNames::Parse(std::string_view text) {
  EntityNames names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    WEIR_ASSIGN_OR_RETURN(Part part, ParsePart(text.substr(begin, end - begin)));
    WEIR_RETURN_IF_ERROR(CheckEntityId(NameIn(part, part.count - 1)));
    part.begins_at = names.size_;
    names.size_ += part.count;
    if (names.size_ > kMost) return NotNames(text);
    names.parts_.push_back(std::move(part));
    begin = end + 1;
  }
  return names;
}

std::string EntityNames::At(std::uint64_t index) const {
  const auto after = std::upper_bound(
      parts_.begin(), parts_.end(), index,
      [](std::uint64_t wanted, const Part& part) { return wanted < part.begins_at; });
  const Part& part = *std::prev(after);
  return NameIn(part, index - part.begins_at);
}

}  // namespace weir::app
