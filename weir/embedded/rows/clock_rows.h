// The time that a file stores: one row. Mechanism: docs/design/time.md.
#pragma once

#include <optional>

#include "weir/base/bucket_time.h"
#include "weir/embedded/boot_identity.h"
#include "weir/embedded/file/damage.h"
#include "weir/embedded/file/sqlite.h"
#include "weir/store/config/audit_horizon.h"

namespace weir {

struct StoredClock {
  BootIdentity boot;            ///< the boot for which `base` is valid
  UnixMillis base;              ///< bucket time minus time since boot
  milliseconds correction;      ///< event time minus bucket time
  AuditHorizon::State horizon;  ///< uptime that is counted across boots, for the audit trail
};

/// The migration that creates the table. The first process that opens the file writes the row.
inline constexpr const char* kClockTable = R"sql(
CREATE TABLE clock(  -- one row
  id INTEGER PRIMARY KEY CHECK(id = 1),
  boot TEXT NOT NULL,  -- boot id of the machine, for which the numbers below hold
  time_namespace TEXT NOT NULL,
  base INTEGER NOT NULL,  -- bucket time less the time since boot
  correction INTEGER NOT NULL,  -- times of events less bucket time
  counted INTEGER NOT NULL,  -- time since boot, boot after boot; audit.expires counts in it
  counted_at INTEGER NOT NULL  -- time since boot when it was counted last
);
)sql";

/// Reads the row. Returns nothing if no process has opened the file since the table exists, or if
/// the row is unreadable, which is noted in `damage` unless `damage` is null.
[[nodiscard]] Result<std::optional<StoredClock>> ReadClock(sqlite::Connection& connection,
                                                           DamageReport* damage = nullptr);
/// Returns whether a row is valid. `row` has all columns in the order of the table.
bool IsClockRow(const sqlite::Statement& row);
/// Replaces the row. REQUIRES: a transaction, unless this statement is the only change.
[[nodiscard]] Status WriteClock(sqlite::Connection& connection, const StoredClock& clock);

/// The clock that is valid for a boot.
struct ClockOnBoot {
  StoredClock clock;
  bool is_new = false;  ///< `clock` is not stored yet: it must be written before it is used
};
/// Returns the stored time if it is valid for `boot`. Otherwise time restarts from the wall clock,
/// and only the counted uptime of the horizon is kept.
ClockOnBoot ClockForBoot(const BootIdentity& boot, const std::optional<StoredClock>& stored,
                         const Clock& clock);

}  // namespace weir
