#include "weir/embedded/rows/clock_rows.h"

#include "weir/embedded/rows/bucket_reader.h"
#include "weir/model/stored_text.h"

namespace weir {
namespace {

/// The columns of the table `clock`.
struct ClockColumn {
  enum : int { kId, kBoot, kTimeNamespace, kBase, kCorrection, kCounted, kCountedAt };
};

// The longest time since boot, in ms, that AuditHorizon::State::at can have: 292 years, the range
// of nanoseconds.
constexpr std::int64_t kLongestBoot = std::chrono::floor<milliseconds>(nanoseconds::max()).count();

bool IsInTimeRange(std::int64_t time) {
  return time >= -kLatestBucketTime.value && time <= kLatestBucketTime.value;
}

}  // namespace

bool IsClockRow(const sqlite::Statement& row) {
  for (const int column : {ClockColumn::kBase, ClockColumn::kCorrection, ClockColumn::kCounted,
                           ClockColumn::kCountedAt}) {
    if (!row.IsInteger(column) || !IsInTimeRange(row.Integer(column))) return false;
  }
  // With these bounds, bucket time (base plus the time since boot), event times (bucket time plus
  // correction) and the counted uptime do not overflow in milliseconds, and the time since boot of
  // the latest count does not overflow in nanoseconds.
  return row.Integer(ClockColumn::kCounted) >= 0 && row.Integer(ClockColumn::kCountedAt) >= 0 &&
         row.Integer(ClockColumn::kCountedAt) <= kLongestBoot &&
         IsUtf8(row.Text(ClockColumn::kBoot)) && IsUtf8(row.Text(ClockColumn::kTimeNamespace));
}

Result<std::optional<StoredClock>> ReadClock(sqlite::Connection& connection, DamageReport* damage) {
  WEIR_ASSIGN_OR_RETURN(
      sqlite::Statement select,
      connection.Prepare("SELECT id, boot, time_namespace, base, correction, counted, counted_at "
                         "FROM clock"));
  WEIR_ASSIGN_OR_RETURN(const bool has_row, select.Step());
  if (!has_row) return std::nullopt;
  if (!IsClockRow(select)) {
    if (damage != nullptr) {
      damage->Note("clock", "the row is unreadable; time restarts from the wall clock");
    }
    return std::nullopt;
  }
  return StoredClock{
      .boot = {.boot = std::string(select.Text(ClockColumn::kBoot)),
               .time_namespace = std::string(select.Text(ClockColumn::kTimeNamespace))},
      .base = {select.Integer(ClockColumn::kBase)},
      .correction = milliseconds(select.Integer(ClockColumn::kCorrection)),
      .horizon = {.uptime = milliseconds(select.Integer(ClockColumn::kCounted)),
                  .at = milliseconds(select.Integer(ClockColumn::kCountedAt))}};
}

Status WriteClock(sqlite::Connection& connection, const StoredClock& clock) {
  WEIR_ASSIGN_OR_RETURN(
      sqlite::Statement replace,
      connection.Prepare("INSERT OR REPLACE INTO clock VALUES(1, ?, ?, ?, ?, ?, ?)"));
  // Rounded down, so that the remaining fraction of a millisecond is counted next time.
  const auto at = std::chrono::floor<milliseconds>(clock.horizon.at);
  return replace.Bind(1, clock.boot.boot)
      .Bind(2, clock.boot.time_namespace)
      .Bind(3, clock.base.value)
      .Bind(4, clock.correction.count())
      .Bind(5, clock.horizon.uptime.count())
      .Bind(6, at.count())
      .Run();
}

ClockOnBoot ClockForBoot(const BootIdentity& boot, const std::optional<StoredClock>& stored,
                         const Clock& clock) {
  const nanoseconds now = clock.BootNow();
  if (stored && IsSameBoot(stored->boot, boot)) return {.clock = *stored};
  AuditHorizon::State horizon = stored ? stored->horizon : AuditHorizon::State{};
  horizon.at = now;
  return {.clock = {.boot = boot,
                    .base = BucketTime::FromMedian(clock).base(),
                    .correction = milliseconds(0),
                    .horizon = horizon},
          .is_new = true};
}

}  // namespace weir
