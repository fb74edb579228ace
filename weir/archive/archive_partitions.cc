#include "weir/archive/archive_partitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>

#include "weir/codec/iso_time.h"

namespace weir {
namespace {

constexpr std::size_t kTimeSize = std::string_view("2026-01-31T09-05-07").size();

std::string_view NameOf(std::string_view key) { return key.substr(key.rfind('/') + 1); }

// Returns the time that begins at `text`, in which '-' replaces ':'.
std::optional<UnixMillis> TimeAt(std::string_view text) {
  if (text.size() < kTimeSize) return std::nullopt;
  std::string iso(text.substr(0, kTimeSize));
  if (iso[10] != 'T' || iso[13] != '-' || iso[16] != '-') return std::nullopt;
  iso[13] = iso[16] = ':';
  return dynamo::ParseIso(iso + 'Z');
}

}  // namespace

std::vector<int> PartitionNumbers(const std::vector<std::string>& prefixes, std::string_view parent,
                                  std::string_view unit) {
  std::vector<int> numbers;
  for (const std::string_view prefix : prefixes) {
    const std::size_t begin = parent.size() + unit.size() + 1;
    if (prefix.size() <= begin || !prefix.starts_with(parent)) continue;
    int number = 0;
    const auto [end, fault] = std::from_chars(prefix.begin() + begin, prefix.end(), number);
    const bool is_whole = fault == std::errc() && prefix.end() - end == 1;
    if (!is_whole || prefix.substr(parent.size()) != PartitionName(unit, number)) continue;
    numbers.push_back(number);
  }
  std::ranges::sort(numbers, std::greater());
  return numbers;
}

std::string PartitionName(std::string_view unit, int number) {
  return fmt::format("{}={:02}/", unit, number);
}

std::chrono::year_month_day DayOf(UnixMillis time) {
  using std::chrono::sys_days, std::chrono::year;
  const auto day = std::chrono::floor<std::chrono::days>(
      std::chrono::sys_time<milliseconds>(milliseconds(time.value)));
  return std::clamp<sys_days>(day, sys_days(year::min() / 1 / 1), sys_days(year::max() / 12 / 31));
}

bool IsArchiveKey(std::string_view key) {
  return NameOf(key).starts_with("audit-") && key.ends_with(".jsonl.gz");
}

std::optional<UnixMillis> TimeOfKey(std::string_view key) {
  std::string_view name = NameOf(key);
  // The time follows one of the '-' in the name, not always the first.
  for (std::size_t dash = name.find('-'); dash != name.npos; dash = name.find('-', dash + 1)) {
    if (const auto time = TimeAt(name.substr(dash + 1))) return time;
  }
  return std::nullopt;
}

}  // namespace weir
