#include "weir/embedded/commit/commit_writer.h"

#include <utility>

namespace weir {
namespace {

// The number of buckets (UseDrain::most) whose ended hours a commit adds to usage, so that the
// commit stays short.
constexpr std::size_t kMaxUseBuckets = 128;

}  // namespace

Result<CommitWriter::Committed> CommitWriter::Commit(const Run& run) {
  if (!pending_since_) pending_since_ = run.first_change;
  ChangeLog& log = file_->log();
  if (run.is_idle) {
    // A full bucket can be removed only after its use has been collected, so the table is swept
    // twice.
    table_.SweepIdle(table_.Now());
    log.AddChanges(table_, kMaxUseBuckets);
    table_.SweepIdle(table_.Now());
  }
  log.AddChanges(table_, kMaxUseBuckets);
  const Instant begun = options_.clock.Now();
  auto written = log.Append(table_.Now());
  options_.commit_time.Record((options_.clock.Now() - begun).count());
  if (!written) return Fail(Code::kUnavailable, std::move(written.error().message));
  grown_bytes_ += written->bytes;
  Committed committed{.written = *written, .usage = log.usage().stats()};
  committed.usage.lost = log.lost_use();
  if (pending_since_) committed.gap = options_.clock.Now() - *pending_since_;
  file_->SampleClock();
  pending_since_.reset();
  return committed;
}

Status CommitWriter::Maintain(const Run& run) {
  ChangeLog& log = file_->log();
  const std::size_t grown = std::exchange(grown_bytes_, 0);
  const bool is_long = log.bytes() >= options_.fold_bytes;
  if (log.bytes() > 0 && (log.folding() || is_long || run.is_idle)) {
    WEIR_RETURN_IF_ERROR(log.FoldSome(table_, grown));
  }
  return file_->CheckpointIfLong();
}

PendingMaintenance CommitWriter::pending_maintenance() const {
  if (file_->log().folding()) return PendingMaintenance::kFold;
  return file_->log().bytes() > 0 ? PendingMaintenance::kLog : PendingMaintenance::kNothing;
}

CommitWriter::Closed CommitWriter::Close(const Run& run) {
  const Status committed = Commit(run).map([](const Committed&) {});
  // If the commit has failed, the fold is another attempt to write its changes.
  const Status folded = file_->log().FoldAll(table_);
  Status closed = file_->Close();
  // On a full disk the committed changes stay in the log.
  const bool is_full = !folded && folded.error().code == Code::kResourceExhausted;
  if (!folded && !(committed && is_full)) closed = folded;
  return {.status = committed ? closed : committed, .stored = folded ? folded : committed};
}

}  // namespace weir
