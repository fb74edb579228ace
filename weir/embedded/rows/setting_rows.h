// The settings of a file, in the table `setting`: a name and a number.
#pragma once

#include <cstdint>
#include <optional>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/embedded/file/sqlite.h"

namespace weir {

/// Returns the retention of new events in days. A row that is invalid counts as absent.
[[nodiscard]] Result<std::int64_t> ReadRetention(sqlite::Connection& connection);
/// Sets the retention of new events. REQUIRES: CheckRetention accepts `days`; a transaction, unless
/// this is the only change.
[[nodiscard]] Status WriteRetention(sqlite::Connection& connection, std::int64_t days);

/// Returns the bucket time at which all buckets without a row had no tokens, because a repair may
/// have lost their rows; nothing if no repair did, or if the row is invalid.
[[nodiscard]] Result<std::optional<UnixMillis>> ReadEmptiedAt(sqlite::Connection& connection);
/// Sets the time of ReadEmptiedAt. REQUIRES: a transaction, unless this is the only change.
[[nodiscard]] Status WriteEmptiedAt(sqlite::Connection& connection, UnixMillis time);

/// Returns whether a row is a valid setting. `row` has all columns in the order of the table.
bool IsSettingRow(const sqlite::Statement& row);

}  // namespace weir
