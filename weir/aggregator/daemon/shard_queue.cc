#include "weir/aggregator/daemon/shard_queue.h"

#include <algorithm>
#include <utility>

namespace weir::dynamo {
namespace {

/// The duration of one try. Records that are not applied within it are tried again.
constexpr std::chrono::seconds kBatchTime{20};
constexpr nanoseconds kFirstPause = milliseconds(500);
constexpr nanoseconds kLongestPause = std::chrono::seconds(30);
constexpr nanoseconds kSkippedInterval = std::chrono::seconds(10);

}  // namespace

ShardQueue::ShardQueue(const Parts& parts, std::shared_ptr<BatchRun> run, std::uint64_t seed)
    : parts_(parts),
      run_(std::move(run)),
      rng_(seed),
      pauses_(kFirstPause, kLongestPause),
      repeated_(kSkippedInterval) {}

// Damaged records lie between the others. But gaps need not be stored in the order of the records,
// so the gaps of the damaged ones are stored first.
void ShardQueue::AddBatch(ChangeBatch batch, std::function<void(bool)> completed) {
  if (is_stopped_) return;
  if (batch.gap) work_.emplace_back(GapOfLost(*batch.gap));
  for (RecordGap& gap : GapsOfDamaged(batch, parts_.scheduler.clock().WallNow())) {
    ReportSkipped(gap);
    work_.emplace_back(std::move(gap.gap));
  }
  work_.emplace_back(Batch{std::move(batch), std::move(completed)});
  if (!is_busy_) RunNext();
}

bool ShardQueue::IsStored(const UsageGap& gap) const {
  return stored_ && stored_->from <= gap.from && gap.until <= stored_->until;
}

void ShardQueue::RunNext() {
  const auto is_stored = [this](const Work& work) {
    const auto* const gap = std::get_if<UsageGap>(&work);
    return gap != nullptr && IsStored(*gap);
  };
  while (!work_.empty() && is_stored(work_.front())) work_.pop_front();
  is_busy_ = !work_.empty();
  if (!is_busy_) return;
  const Deadline deadline = Deadline::After(parts_.scheduler.clock(), kBatchTime);
  const auto on_ended = [self = shared_from_this()](const BatchResult& result) {
    self->OnEnded(result);
  };
  if (const auto* gap = std::get_if<UsageGap>(&work_.front())) {
    return run_->StartGap(*gap, deadline, on_ended);
  }
  const Batch& batch = std::get<Batch>(work_.front());
  const std::span<const ChangeRecord> records(batch.changes.records);
  run_->Start({.stream_shard = batch.changes.shard,
               .records = records.subspan(batch.applied),
               .deadline = deadline},
              on_ended);
}

void ShardQueue::OnEnded(const BatchResult& result) {
  Count(result);
  Batch* const batch = std::get_if<Batch>(&work_.front());
  if (batch != nullptr) batch->applied += result.applied;
  if (result.error) {
    if (batch != nullptr && result.is_bad_record) return Skip(*batch, *result.error);
    return RetryLater();  // the aggregator has logged the error
  }
  pauses_.Reset();
  if (batch != nullptr) {
    NoteApplied(batch->changes);
    batch->completed(true);
  } else {
    ++parts_.stats.gaps;
    stored_ = std::get<UsageGap>(std::move(work_.front()));
  }
  work_.pop_front();
  RunNext();
}

void ShardQueue::NoteApplied(const ChangeBatch& batch) {
  if (batch.records.empty()) return;
  std::optional<UnixMillis>& newest = parts_.stats.newest_applied;
  newest = std::max(newest.value_or(UnixMillis{}), batch.records.back().created);
}

std::optional<UnixMillis> ShardQueue::oldest_waiting() const {
  for (const Work& work : work_) {
    // The beginning of a gap is not known if the shard was never read.
    if (const auto* const gap = std::get_if<UsageGap>(&work)) {
      return gap->from.value > 0 ? gap->from : gap->until;
    }
    const auto* const batch = std::get_if<Batch>(&work);
    if (batch->applied >= batch->changes.records.size()) continue;
    return batch->changes.records[batch->applied].created;
  }
  return std::nullopt;
}

void ShardQueue::Skip(Batch& batch, const Error& error) {
  RecordGap gap = GapOfBadRecords(batch.changes, batch.applied, error.message);
  batch.applied += gap.passed;
  // The good records among them need no request: they count as applied here.
  parts_.stats.records += gap.passed - gap.records;
  ReportSkipped(gap);
  work_.emplace_front(std::move(gap.gap));
  // Posted, because there may be no request in between: a batch that alternates between bad records
  // and records that need nothing would recurse deeply.
  parts_.scheduler.Post([self = shared_from_this()] {
    if (!self->is_stopped_) self->RunNext();
  });
}

void ShardQueue::ReportSkipped(const RecordGap& gap) {
  parts_.stats.skipped += gap.records;
  std::optional<std::int64_t> suppressed_before = 0;
  if (IsStored(gap.gap)) suppressed_before = repeated_.ShouldWrite(parts_.scheduler.clock().Now());
  if (!suppressed_before) return;
  const LogField fields[] = {{"stream_shard", std::string_view(gap.gap.stream_shard)},
                             {"sequence", std::string_view(gap.gap.position)},
                             {"records", static_cast<std::int64_t>(gap.records)},
                             {"message", std::string_view(gap.reason)},
                             {"suppressed", *suppressed_before}};
  parts_.log.Write(LogLevel::kError, "aggregator.record_skipped", fields);
}

void ShardQueue::RetryLater() {
  ++parts_.stats.failed_batches;
  if (parts_.is_draining) return GiveUp();
  const Instant at = parts_.scheduler.clock().Now() + kFirstPause + pauses_.Next(rng_);
  parts_.scheduler.At(at, [self = shared_from_this()] {
    if (self->is_stopped_) return;
    self->parts_.is_draining ? self->GiveUp() : self->RunNext();
  });
}

void ShardQueue::GiveUp() {
  is_busy_ = false;
  for (Work& work : std::exchange(work_, {})) {
    if (auto* const batch = std::get_if<Batch>(&work)) batch->completed(false);
  }
}

void ShardQueue::Stop(std::function<void()> idle) {
  is_stopped_ = true;
  work_.clear();
  run_->Stop(std::move(idle));
}

void ShardQueue::Count(const BatchResult& result) {
  AggregateStats& stats = parts_.stats;
  stats.records += result.applied;
  stats.updates += result.counts.updates;
  stats.conflicts += result.counts.conflicts;
  stats.refills += result.counts.refills;
  stats.divisions += result.counts.divisions;
  stats.refused += result.counts.refused;
  stats.archived += result.counts.archived;
}

}  // namespace weir::dynamo
