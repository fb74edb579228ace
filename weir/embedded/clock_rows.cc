#include "weir/embedded/clock_rows.h"

namespace weir {

Result<std::optional<StoredClock>> ReadClock(sqlite::Connection& connection) {
  WEIR_ASSIGN_OR_RETURN(
      sqlite::Statement select,
      connection.Prepare("SELECT boot, time_namespace, base, correction, counted, counted_at "
                         "FROM clock"));
  WEIR_ASSIGN_OR_RETURN(const bool is_there, select.Step());
  if (!is_there) return std::nullopt;
  return StoredClock{
      .on = {.boot = std::string(select.Text(0)), .time_namespace = std::string(select.Text(1))},
      .base = {select.Integer(2)},
      .correction = milliseconds(select.Integer(3)),
      .horizon = {.counted = milliseconds(select.Integer(4)),
                  .at = milliseconds(select.Integer(5))}};
}

Status WriteClock(sqlite::Connection& connection, const StoredClock& clock) {
  WEIR_ASSIGN_OR_RETURN(
      sqlite::Statement replace,
      connection.Prepare("INSERT OR REPLACE INTO clock VALUES(1, ?, ?, ?, ?, ?, ?)"));
  // Rounded down: the rest of a millisecond counts next time.
  const auto at = std::chrono::floor<milliseconds>(clock.horizon.at);
  return replace.Bind(1, clock.on.boot)
      .Bind(2, clock.on.time_namespace)
      .Bind(3, clock.base.value)
      .Bind(4, clock.correction.count())
      .Bind(5, clock.horizon.counted.count())
      .Bind(6, at.count())
      .Run();
}

ClockOnBoot ClockOn(const BootIdentity& boot, const std::optional<StoredClock>& stored,
                    const Clock& clock) {
  const nanoseconds now = clock.BootNow();
  if (stored && IsSameBoot(stored->on, boot)) return {.stored = *stored};
  AuditHorizon::State horizon = stored ? stored->horizon : AuditHorizon::State{};
  horizon.at = now;
  return {.stored = {.on = boot,
                     .base = BucketTime::FromMedian(clock).base(),
                     .correction = milliseconds(0),
                     .horizon = horizon},
          .is_new = true};
}

}  // namespace weir
