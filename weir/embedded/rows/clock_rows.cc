#include "weir/embedded/rows/clock_rows.h"

#include "weir/embedded/rows/bucket_reader.h"
#include "weir/model/stored_text.h"

namespace weir {
namespace {

bool IsSpan(std::int64_t time) {
  return time >= -kLatestBucketTime.value && time <= kLatestBucketTime.value;
}

}  // namespace

bool IsClockRow(const sqlite::Statement& row) {
  for (const int number : {3, 4, 5, 6}) {
    if (!row.IsInteger(number) || !IsSpan(row.Integer(number))) return false;
  }
  // With these bounds, labels, bucket time and the counted time stay in the range of valid times.
  return row.Integer(5) >= 0 && row.Integer(6) >= 0 && IsUtf8(row.Text(1)) && IsUtf8(row.Text(2));
}

Result<std::optional<StoredClock>> ReadClock(sqlite::Connection& connection, DamageReport* damage) {
  WEIR_ASSIGN_OR_RETURN(
      sqlite::Statement select,
      connection.Prepare("SELECT id, boot, time_namespace, base, correction, counted, counted_at "
                         "FROM clock"));
  WEIR_ASSIGN_OR_RETURN(const bool is_there, select.Step());
  if (!is_there) return std::nullopt;
  if (!IsClockRow(select)) {
    if (damage != nullptr) damage->Note("clock", "does not read; time begins by the wall clock");
    return std::nullopt;
  }
  return StoredClock{
      .on = {.boot = std::string(select.Text(1)), .time_namespace = std::string(select.Text(2))},
      .base = {select.Integer(3)},
      .correction = milliseconds(select.Integer(4)),
      .horizon = {.counted = milliseconds(select.Integer(5)),
                  .at = milliseconds(select.Integer(6))}};
}

Status WriteClock(sqlite::Connection& connection, const StoredClock& clock) {
  WEIR_ASSIGN_OR_RETURN(
      sqlite::Statement replace,
      connection.Prepare("INSERT OR REPLACE INTO clock VALUES(1, ?, ?, ?, ?, ?, ?)"));
  // Rounded down, so that the rest of a millisecond is counted next time.
  const auto at = std::chrono::floor<milliseconds>(clock.horizon.at);
  return replace.Bind(1, clock.on.boot)
      .Bind(2, clock.on.time_namespace)
      .Bind(3, clock.base.value)
      .Bind(4, clock.correction.count())
      .Bind(5, clock.horizon.counted.count())
      .Bind(6, at.count())
      .Run();
}

ClockOnBoot ClockForBoot(const BootIdentity& boot, const std::optional<StoredClock>& stored,
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
