#include "weir/zae_table/config/config_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "weir/store/listing.h"

namespace weir::dynamo {
namespace {

// Checks only the form: resources of other writers may contain characters that Weir refuses.
std::optional<Level> ReadLevel(std::string_view cursor) {
  if (cursor.size() < 3 || cursor[0] < '0' || cursor[0] > '3' || cursor[1] != ' ') return {};
  const std::size_t space = cursor.find(' ', 2);
  if (space == cursor.npos || cursor.find(' ', space + 1) != cursor.npos) return {};
  return Level{.kind = static_cast<Level::Kind>(cursor[0] - '0'),
               .entity = std::string(cursor.substr(2, space - 2)),
               .resource = std::string(cursor.substr(space + 1))};
}

}  // namespace

std::string CursorOf(const Level& level) {
  return fmt::format("{} {} {}", static_cast<int>(level.kind), level.entity, level.resource);
}

Result<std::optional<Level>> ReadCursor(const PageRequest& page, const LevelFilter& filter) {
  WEIR_RETURN_IF_ERROR(CheckLimit(page));
  if (page.cursor.empty()) return std::nullopt;
  std::optional<Level> level = ReadLevel(page.cursor);
  if (!level || !filter.Matches(*level)) return BadCursor();
  return level;
}

// No process can hold a larger page.
std::size_t LimitOf(const PageRequest& page) {
  return std::min<std::size_t>(page.limit, 1'000'000'000);
}

}  // namespace weir::dynamo
