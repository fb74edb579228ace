// The keys of an archive's objects.
//
// Format: zae-limiter 0.17.0, inventory section 5.3:
// audit/year=2026/month=01/day=31/audit-<name>-<time>.jsonl.gz, where the time is that of the
// earliest event, with '-' instead of ':', and the day is that of the time. Weir's archiver has the
// time before the name.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/time.h"

namespace weir {

inline constexpr std::string_view kArchiveFolder = "audit/";

/// Returns the numbers N of the common prefixes `<parent><name>=N/`, the greatest first. Others are
/// left out.
std::vector<int> NumbersOf(const std::vector<std::string>& prefixes, std::string_view parent,
                           std::string_view name);

/// Returns "year=2026/", "month=01/" or "day=31/".
std::string PartitionName(std::string_view name, int number);

/// Returns the day of a time.
std::chrono::year_month_day DayOf(UnixMillis time);

/// Returns true for the keys of objects of events.
bool IsArchiveKey(std::string_view key);

/// Returns the time in an object's key: no event of the object is earlier. Nothing if the key has
/// none.
std::optional<UnixMillis> TimeOfKey(std::string_view key);

}  // namespace weir
