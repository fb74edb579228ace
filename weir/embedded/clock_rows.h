// What a file knows of time: one row. Mechanism: docs/design/time.md.
#pragma once

#include <optional>

#include "weir/embedded/boot_identity.h"
#include "weir/embedded/damage.h"
#include "weir/embedded/sqlite.h"
#include "weir/store/audit_horizon.h"
#include "weir/store/bucket_time.h"

namespace weir {

struct StoredClock {
  BootIdentity on;          ///< the boot that `base` holds for
  UnixMillis base;          ///< bucket time less the time since boot
  milliseconds correction;  ///< labels less bucket time
  AuditHorizon::State horizon;
};

/// The migration that makes its table, whose row the first process that opens the file writes.
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

/// Nothing if no process has opened the file since it has this row, or if the row does not read:
/// that is noted in `damage`, if there is one.
[[nodiscard]] Result<std::optional<StoredClock>> ReadClock(sqlite::Connection& connection,
                                                           DamageReport* damage = nullptr);
/// Whether a row with all columns in their order is one of numbers that can be.
bool IsClockRow(const sqlite::Statement& row);
/// REQUIRES: a transaction, or that one statement is enough.
[[nodiscard]] Status WriteClock(sqlite::Connection& connection, const StoredClock& clock);

/// What holds on this boot: as stored, or on a new boot from the wall clock, the horizon kept. True
/// in `is_new`: it is to be written before it is used.
struct ClockOnBoot {
  StoredClock stored;
  bool is_new = false;
};
ClockOnBoot ClockOn(const BootIdentity& boot, const std::optional<StoredClock>& stored,
                    const Clock& clock);

}  // namespace weir
