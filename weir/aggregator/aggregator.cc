#include "weir/aggregator/aggregator.h"

#include <algorithm>
#include <utility>

#include "weir/codec/iso_time.h"
#include "weir/runtime/backoff.h"

namespace weir::dynamo {
namespace {

constexpr nanoseconds kRefusalInterval = std::chrono::seconds(10);
// A failed condition shows that another process updated the item. A task that has sent this many
// requests pauses before its next one.
constexpr int kTriesWithoutPause = 3;

bool IsFinal(FailureClass kind) {
  return kind == FailureClass::kPermanent || kind == FailureClass::kAuth;
}

bool IsFinal(Code code) {
  return code == Code::kInvalidArgument || code == Code::kPermissionDenied ||
         code == Code::kUnauthenticated || code == Code::kNotFound;
}

}  // namespace

Aggregator::Aggregator(const AggregatorTerms& terms, std::uint64_t seed)
    : terms_(terms),
      rng_(seed),
      refusals_(kRefusalInterval),
      queue_(std::max<std::size_t>(terms.options.max_in_flight, 1)) {}

AggregatorStep Aggregator::Start(const RecordBatch& batch, const ProtocolTime& moment) {
  Begin(batch);
  plan_ = PlanBatch(batch.records, terms_.options.windows);
  applied_ = batch.records.size();  // an upper bound, which FailFrom lowers
  if (plan_.bad) FailFrom(plan_.records, *plan_.bad);
  if (!terms_.options.archives) plan_.expired.clear();
  for (const BucketChange& change : plan_.changes) counts_.changes += change.deltas.size();
  usage_.resize(plan_.groups.size());
  archived_.resize(plan_.expired.size());
  for (std::size_t i = 0; i < usage_.size(); ++i) queue_.Add({Kind::kUsage, i});
  for (std::size_t i = 0; i < archived_.size(); ++i) queue_.Add({Kind::kArchive, i});
  AggregatorStep step;
  if (terms_.lease.IsHeldAt(moment.at)) PlanUpkeeps(moment, step);
  return Continue(std::move(step), moment);
}

AggregatorStep Aggregator::StartGap(const UsageGap& gap, Deadline deadline,
                                    const ProtocolTime& moment) {
  Begin({.stream_shard = gap.stream_shard, .records = {}, .deadline = deadline});
  const std::string from = FormatIso(gap.from);
  const std::string until = FormatIso(gap.until);
  const LogField fields[] = {{"stream_shard", std::string_view(gap.stream_shard)},
                             {"from", std::string_view(from)},
                             {"until", std::string_view(until)}};
  terms_.log.Write(LogLevel::kError, "aggregator.gap", fields);
  gap_ = gap;
  queue_.Add({Kind::kGap});
  return Continue({}, moment);
}

void Aggregator::Begin(const RecordBatch& batch) {
  busy_ = true;
  batch_ = batch;
  plan_ = {};
  usage_.clear();
  archived_.clear();
  refills_.clear();
  gap_.reset();
  applied_ = 0;
  error_.reset();
  counts_ = {.records = batch.records.size()};
  queue_.Clear();
}

void Aggregator::PlanUpkeeps(const ProtocolTime& moment, AggregatorStep& step) {
  const AggregatorOptions& options = terms_.options;
  if (!options.refills && !options.divides) return;
  BatchUpkeep upkeep = PlanBatchUpkeep(plan_.changes, batch_.records, moment.bucket_time);
  for (const RefusedShard& refused : upkeep.refused) NoteRefusal(refused, moment.at);
  if (options.refills) refills_ = std::move(upkeep.refills);
  if (options.divides) step.divisions = std::move(upkeep.divisions);
  for (std::size_t i = 0; i < refills_.size(); ++i) queue_.Add({Kind::kRefill, i});
  counts_.divisions = step.divisions.size();
}

void Aggregator::NoteRefusal(const RefusedShard& refused, Instant now) {
  ++counts_.refused;
  const auto suppressed_before = refusals_.ShouldWrite(now);
  if (!suppressed_before) return;
  const LogField fields[] = {{"entity", std::string_view(refused.bucket->entity)},
                             {"resource", std::string_view(refused.bucket->resource)},
                             {"message", std::string_view(refused.error.message)},
                             {"suppressed", *suppressed_before}};
  terms_.log.Write(LogLevel::kWarning, "aggregator.refused", fields);
}

AggregatorStep Aggregator::Continue(AggregatorStep step, const ProtocolTime& moment) {
  if (!busy_) return step;
  if (!terms_.lease.IsHeldAt(moment.at)) {
    FailUnsettled({Code::kAborted, "another aggregator may hold the table's lease"});
  } else if (batch_.deadline.ExpiredAt(moment.at)) {
    FailUnsettled({Code::kDeadlineExceeded, "the batch's time ran out"});
  }
  while (const auto task = queue_.Next(moment.at)) Run(*task, step);
  if (queue_.is_idle()) step.done = End();
  return step;
}

void Aggregator::Run(const BatchTask& task, AggregatorStep& step) {
  switch (task.kind) {
    case Kind::kUsage:
      return RunUsage(task, step);
    case Kind::kArchive:
      return RunArchive(task, step);
    case Kind::kRefill:
      return Send(task, std::move(refills_[task.index]), step);
    case Kind::kGap:
      return Send(task, GapWrite(*gap_, terms_.options.retention_days), step);
  }
}

void Aggregator::RunUsage(const BatchTask& task, AggregatorStep& step) {
  UsageProgress& progress = usage_[task.index];
  auto plan = PlanUsage(plan_.groups[task.index], progress.terms, terms_.options.retention_days);
  if (!plan) return OnFailure(task, std::move(plan.error()), /*is_final=*/true, {});
  if (*plan) {
    progress.is_part = (*plan)->is_part;
    return Send(task, std::move((*plan)->write), step);
  }
  progress.settled = true;
  ++counts_.counted;
}

void Aggregator::RunArchive(const BatchTask& task, AggregatorStep& step) {
  auto object = MakeArchiveObject(batch_.records[plan_.expired[task.index]]);
  if (!object) return OnFailure(task, std::move(object.error()), /*is_final=*/true, {});
  Send(task, *std::move(object), step);
}

void Aggregator::Send(const BatchTask& task, std::variant<Write, ArchiveObject> body,
                      AggregatorStep& step) {
  if (task.tries > 0) ++counts_.retries;
  step.requests.push_back({queue_.Sent(task), std::move(body)});
}

AggregatorStep Aggregator::OnWrite(RequestId request,
                                   tl::expected<WriteResponse, WriteFailure> outcome,
                                   const ProtocolTime& moment) {
  const auto task = queue_.Finish(request);
  if (!task) return {};
  if (outcome) {
    OnWriteApplied(*task, std::move(outcome->item));
  } else if (outcome.error().kind == FailureClass::kConditional) {
    OnConditional(*task, std::move(outcome.error().old_item), moment.at);
  } else if (outcome.error().kind == FailureClass::kPermanent && MakeFull(*task)) {
    queue_.Add(*task);
  } else {
    const bool is_final = IsFinal(outcome.error().kind);
    OnFailure(*task, std::move(outcome.error().error), is_final, moment.at);
  }
  return Continue({}, moment);
}

AggregatorStep Aggregator::OnArchived(RequestId request, Status outcome,
                                      const ProtocolTime& moment) {
  const auto task = queue_.Finish(request);
  if (!task) return {};
  if (outcome) {
    OnApplied(*task);
  } else {
    const bool is_final = IsFinal(outcome.error().code);
    OnFailure(*task, std::move(outcome.error()), is_final, moment.at);
  }
  return Continue({}, moment);
}

AggregatorStep Aggregator::OnTime(const ProtocolTime& moment) { return Continue({}, moment); }

Instant Aggregator::wake() const {
  if (!busy_) return {INT64_MAX};
  return std::min(queue_.wake(), batch_.deadline.at());
}

// If the response has no image, the next part's condition fails, and the failure has one.
void Aggregator::OnWriteApplied(const BatchTask& task, std::optional<Item> item) {
  if (task.kind != Kind::kUsage || !usage_[task.index].is_part) return OnApplied(task);
  ++counts_.updates;
  usage_[task.index].terms = {.seen = std::move(item)};
  queue_.Add({task.kind, task.index});
}

// The usual reason why DynamoDB refuses an update of usage for good is an item of 400 KB: it has
// the counters of many thousand limits. The batch, and with it the shard of the stream, must not
// stop because of this item. The names of limits are tried first, so the item fills up to its last
// byte, and further updates must remove counters to add anything.
bool Aggregator::MakeFull(const BatchTask& task) {
  return task.kind == Kind::kUsage && !std::exchange(usage_[task.index].terms.is_full, true);
}

void Aggregator::OnApplied(const BatchTask& task) {
  Settle(task);
  if (task.kind == Kind::kUsage) ++counts_.updates;
  if (task.kind == Kind::kArchive) ++counts_.archived;
  if (task.kind == Kind::kRefill) ++counts_.refills;
}

void Aggregator::Settle(const BatchTask& task) {
  if (task.kind == Kind::kUsage) usage_[task.index].settled = true;
  if (task.kind == Kind::kArchive) archived_[task.index] = true;
  if (task.kind == Kind::kGap) gap_.reset();
}

// A refill that lost to another write is not needed.
void Aggregator::OnConditional(const BatchTask& task, std::optional<Item> item, Instant now) {
  if (task.kind == Kind::kRefill) {
    ++counts_.lost_refills;
    return;
  }
  ++counts_.conflicts;
  if (task.kind == Kind::kUsage) usage_[task.index].terms.seen = std::move(item);
  if (task.tries < kTriesWithoutPause) return queue_.Add(task);
  OnFailure(task, {Code::kAborted, "other processes update the usage of the same bucket"},
            /*is_final=*/false, now);
}

void Aggregator::OnFailure(const BatchTask& task, Error error, bool is_final, Instant now) {
  if (task.kind == Kind::kRefill) {
    ++counts_.lost_refills;
    return;
  }
  if (is_final || task.tries >= terms_.options.max_tries) {
    Settle(task);
    return FailFrom(FirstRecordOf(task), std::move(error));
  }
  Backoff pauses(terms_.options.first_pause, terms_.options.longest_pause,
                 static_cast<std::uint32_t>(task.tries));
  queue_.Pause(task, now + pauses.Next(rng_));
}

void Aggregator::FailFrom(std::size_t record, Error error) {
  if (error_ && record >= applied_) return;
  applied_ = std::min(record, applied_);
  error_ = std::move(error);
}

std::size_t Aggregator::FirstRecordOf(const BatchTask& task) const {
  if (task.kind == Kind::kUsage) return plan_.groups[task.index].first_record;
  return task.kind == Kind::kArchive ? plan_.expired[task.index] : 0;
}

void Aggregator::FailUnsettled(const Error& error) {
  queue_.Clear();
  for (std::size_t i = 0; i < usage_.size(); ++i) {
    if (!usage_[i].settled) FailFrom(plan_.groups[i].first_record, error);
  }
  for (std::size_t i = 0; i < archived_.size(); ++i) {
    if (!archived_[i]) FailFrom(plan_.expired[i], error);
  }
  if (gap_) FailFrom(0, error);
}

BatchResult Aggregator::End() {
  busy_ = false;
  BatchResult result{.applied = applied_, .error = error_, .counts = counts_};
  const auto sequence = [this](std::size_t record) {
    return std::string_view(batch_.records[record].sequence_number);
  };
  if (applied_ > 0) result.checkpoint = sequence(applied_ - 1);
  if (applied_ < batch_.records.size()) result.failed_at = sequence(applied_);
  result.is_bad_record = plan_.bad && applied_ == plan_.records;
  if (!error_) return result;
  const LogField fields[] = {{"stream_shard", std::string_view(batch_.stream_shard)},
                             {"sequence", std::string_view(result.failed_at)},
                             {"message", std::string_view(error_->message)}};
  terms_.log.Write(LogLevel::kError, "aggregator.batch_failed", fields);
  return result;
}

}  // namespace weir::dynamo
