#include "weir/rules/import/envoy_unit.h"

#include <algorithm>
#include <array>
#include <string>

namespace weir::rules {
namespace {

constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kDay = 24 * 3600 * kSecond;
struct Unit {
  std::string_view name;
  std::int64_t millis;
};
constexpr std::array<Unit, 7> kUnits = {{{"SECOND", kSecond},
                                         {"MINUTE", 60 * kSecond},
                                         {"HOUR", 3600 * kSecond},
                                         {"DAY", kDay},
                                         {"WEEK", 7 * kDay},
                                         {"MONTH", 30 * kDay},
                                         {"YEAR", 365 * kDay}}};

}  // namespace

std::optional<std::int64_t> MillisOfEnvoyUnit(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const auto unit = std::ranges::find(kUnits, upper, &Unit::name);
  return unit == kUnits.end() ? std::nullopt : std::optional(unit->millis);
}

}  // namespace weir::rules
