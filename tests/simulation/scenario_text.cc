#include "tests/simulation/scenario_text.h"

#include <charconv>

namespace weir::simulation {

bool ReadChance(std::string_view text, double& chance) {
  return ReadRatio(text, chance) && chance <= 1;
}

bool ReadRatio(std::string_view text, double& ratio) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ratio);
  return error == std::errc{} && end == text.data() + text.size() && ratio >= 0;
}

bool ReadTime(std::string_view text, nanoseconds& time) {
  const bool is_millis = text.ends_with("ms");
  if (!is_millis && !text.ends_with('s')) return false;
  text.remove_suffix(is_millis ? 2 : 1);
  std::int64_t count = 0;
  if (!ReadWithin<std::int64_t>(text, 0, 1'000'000, count)) return false;
  time = is_millis ? nanoseconds(milliseconds(count)) : nanoseconds(std::chrono::seconds(count));
  return true;
}

bool ReadYesNo(std::string_view text, bool& yes) {
  yes = text == "yes";
  return yes || text == "no";
}

}  // namespace weir::simulation
