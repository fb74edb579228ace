#include "weir/aggregator/daemon/record_gap.h"

#include <utility>

#include "weir/aggregator/archive/audit_archive.h"
#include "weir/aggregator/usage/bucket_change.h"

namespace weir::dynamo {
namespace {

UnixMillis WholeMinuteOf(UnixMillis at) {
  return {at.value / kRecordGapTime.count() * kRecordGapTime.count()};
}

RecordGap GapAt(const std::string& shard, std::string sequence, UnixMillis at, std::string reason) {
  const UnixMillis from = WholeMinuteOf(at);
  return {.gap = {.stream_shard = shard,
                  .position = std::move(sequence),
                  .from = from,
                  .until = from + kRecordGapTime},
          .reason = std::move(reason)};
}

/// Counts a record of this time in the gap. Returns false if the gap does not cover the time.
bool Extend(RecordGap& gap, UnixMillis at) {
  if (WholeMinuteOf(at) != gap.gap.from) return false;
  ++gap.records;
  return true;
}

/// Returns whether an aggregator has nothing to do for the record.
bool NeedsNothing(const ChangeRecord& record, const Result<std::optional<BucketChange>>& change) {
  return change && !*change && !IsExpiredEvent(record);
}

}  // namespace

UsageGap GapOfLost(const StreamGap& gap) {
  return {.stream_shard = gap.shard,
          .position = gap.last.sequence_number,
          .from = gap.after.value_or(UnixMillis{}),  // 0: not known
          .until = gap.before};
}

std::vector<RecordGap> GapsOfDamaged(const ChangeBatch& batch, UnixMillis now) {
  const UnixMillis fallback = batch.records.empty() ? now : batch.records.front().created;
  std::vector<RecordGap> gaps;
  for (const DamagedRecord& damaged : batch.damaged) {
    const UnixMillis at = damaged.created.value_or(fallback);
    if (!gaps.empty() && Extend(gaps.back(), at)) continue;
    gaps.push_back(GapAt(batch.shard, damaged.sequence_number, at, damaged.error.message));
  }
  return gaps;
}

RecordGap GapOfBadRecords(const ChangeBatch& batch, std::size_t first, std::string reason) {
  const ChangeRecord& record = batch.records[first];
  RecordGap gap = GapAt(batch.shard, record.sequence_number, record.created, std::move(reason));
  for (std::size_t next = first + 1; next < batch.records.size(); ++next) {
    const ChangeRecord& other = batch.records[next];
    const auto change = ReadChange(other, next);
    if (NeedsNothing(other, change)) continue;
    if (change || !Extend(gap, other.created)) break;
    gap.passed = next + 1 - first;
  }
  return gap;
}

}  // namespace weir::dynamo
