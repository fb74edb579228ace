// The keys of an archive's objects, which are partitioned by year, month and day.
//
// Format: zae-limiter 0.17.0 (zae_limiter_aggregator/archiver.py):
// audit/year=2026/month=01/day=31/audit-<name>-<time>.jsonl.gz. The time is that of the earliest
// event in the object, with '-' instead of ':', and the day is the day of this time. Weir's own
// archiver writes <time>-<name>.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/time.h"

namespace weir {

inline constexpr std::string_view kArchiveFolder = "audit/";

/// Returns the years, months or days that have partitions below `parent`, the greatest first.
/// `unit` is "year", "month" or "day". `prefixes` are the common prefixes (S3Listing) of the keys
/// below `parent`; those that PartitionName does not write are left out.
std::vector<int> PartitionNumbers(const std::vector<std::string>& prefixes, std::string_view parent,
                                  std::string_view unit);

/// Returns the last part of a partition's prefix: "year=2026/", "month=01/" or "day=31/". `unit` is
/// as in PartitionNumbers.
std::string PartitionName(std::string_view unit, int number);

/// Returns the day of a time, in UTC; the first or the last day that std::chrono::year can express
/// if the time is outside of them.
std::chrono::year_month_day DayOf(UnixMillis time);

/// Returns true if the object with this key contains events, according to its name.
bool IsArchiveKey(std::string_view key);

/// Returns the time in an object's key: no event of the object is earlier. Returns nothing if the
/// key contains no time.
std::optional<UnixMillis> TimeOfKey(std::string_view key);

}  // namespace weir
