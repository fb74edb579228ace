#include "weir/dynamodb/streams/shard_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::dynamo {
namespace {

using At = ShardPosition::At;

bool IsRetried(FailureClass kind) {
  return kind == FailureClass::kThrottle || kind == FailureClass::kTransient ||
         kind == FailureClass::kAmbiguous || kind == FailureClass::kDeadline;
}

// The service's clock sets the creation times of records, and a process' clock the start time.
constexpr milliseconds kClockMargin{60'000};

// If the first iterator is requested within this time after the creation of the lease, the newest
// end counts as that of the creation. Later, it would skip records that were written since then.
constexpr milliseconds kLongestStart{10'000};

bool IsLate(const ShardPosition& latest, UnixMillis wall) {
  return !latest.created || wall - *latest.created > kLongestStart;
}

std::optional<UnixMillis> WantedFrom(const ShardPosition& from) {
  const bool is_record = from.at != At::kLatest && from.at != At::kTrimHorizon;
  if (is_record || !from.created) return std::nullopt;
  return *from.created - kClockMargin;
}

/// Moves a record to the batch and returns the position after it.
ShardPosition AddToBatch(PageRecord record, ChangeBatch& batch) {
  ShardPosition after{At::kAfter, record.sequence_number, record.created};
  if (record.change) {
    batch.records.push_back(*std::move(record.change));
  } else {
    batch.damaged.push_back(
        {std::move(record.sequence_number), record.created, std::move(record.change.error())});
  }
  return after;
}

}  // namespace

ShardReading::ShardReading(std::string shard, ShardPosition from, const ConsumerOptions& options)
    : shard_(std::move(shard)),
      options_(options),
      position_(from),
      resume_(std::move(from)),
      wanted_from_(WantedFrom(position_)),
      backoff_(options.first_backoff, options.longest_backoff) {}

std::optional<Instant> ShardReading::due() const {
  const bool is_reading = (stage_ == Stage::kSeeks || stage_ == Stage::kReads) && !is_ended();
  if (!is_reading || in_flight_ || has_batch() || gap_ || !pending_.empty()) return std::nullopt;
  return due_;
}

ConsumerStep::Request ShardReading::MakeRequest(Moment at) {
  in_flight_ = true;
  if (stage_ == Stage::kSeeks) {
    if (resume_.at == At::kLatest && IsLate(resume_, at.wall)) resume_ = {At::kTrimHorizon};
    return {0, "GetShardIterator", ShardIteratorBody(options_.stream_arn, shard_, resume_)};
  }
  requested_ = at.now;
  return {0, "GetRecords", GetRecordsBody(iterator_, options_.batch_records)};
}

Status ShardReading::OnResponse(const Response& response, Moment at, Rng& rng,
                                std::vector<ConsumerEvent>& events) {
  in_flight_ = false;
  if (!response) return OnFailure(response.error(), at, rng, events);
  if (stage_ == Stage::kReads) {
    OnPage(*response, at, rng, events);
    return {};
  }
  const Status read = OnIterator(*response);
  if (!read) TryAgain(read.error(), false, at.now, rng, events);
  return {};
}

Status ShardReading::OnIterator(const std::string& body) {
  WEIR_ASSIGN_OR_RETURN(iterator_, ReadShardIterator(body));
  stage_ = Stage::kReads;
  due_ = std::max(due_, requested_ + options_.least_gap);
  return {};
}

void ShardReading::OnPage(const std::string& body, Moment at, Rng& rng,
                          std::vector<ConsumerEvent>& events) {
  RecordPage page = ReadRecordPage(body);
  std::ranges::move(page.records, std::back_inserter(pending_));
  DropUnwanted();
  if (page.broken) {
    Seek(at.now);
    return TryAgain(*page.broken, false, at.now, rng, events);
  }
  backoff_.Reset();
  failing_ = false;
  iterator_ = std::move(page.next_iterator);
  due_ = requested_ + (pending_.empty() ? options_.idle_gap : options_.least_gap);
  if (!iterator_.empty()) return;
  stage_ = Stage::kEnded;
  if (pending_.empty()) MoveTo({At::kEnd});
}

// The position stays kTrimHorizon: the next page may have older records too, and another process
// that reads them compares their times only there.
void ShardReading::DropUnwanted() {
  // An iterator at the newest end returns no older records, whatever the clocks say.
  if (!wanted_from_ || resume_.at != At::kTrimHorizon) return;
  std::erase_if(pending_, [&](const PageRecord& record) {
    return record.created && *record.created < *wanted_from_;
  });
}

Status ShardReading::OnFailure(const AwsFailure& failure, Moment at, Rng& rng,
                               std::vector<ConsumerEvent>& events) {
  if (failure.code == "ExpiredIteratorException") {
    Seek(at.now);
    return {};
  }
  if (failure.code == "TrimmedDataAccessException") {
    OnTrimmed(failure.code, at, rng);
    return {};
  }
  if (failure.code == "ResourceNotFoundException") {
    stage_ = Stage::kMissing;
    missing_at_ = at.now;
    return {};
  }
  // The service rejects a number before the first record, even the one that it listed as first.
  if (failure.code == "ValidationException" && resume_.at == At::kAt) {
    resume_ = {At::kTrimHorizon};
    return {};
  }
  if (!IsRetried(failure.kind)) return Fail(ToError(failure));
  TryAgain(ToError(failure), failure.kind == FailureClass::kThrottle, at.now, rng, events);
  return {};
}

// position_ stays before the gap, so that a process that reads the shard later reports the
// gap again unless a batch after it was completed.
void ShardReading::OnTrimmed(const std::string& reason, Moment at, Rng& rng) {
  if (!std::exchange(gap_is_known_, true)) NoteGap(reason, at.wall);
  resume_ = {At::kTrimHorizon};
  Seek(at.now + options_.least_gap + backoff_.Next(rng));
}

void ShardReading::Seek(Instant due) {
  stage_ = Stage::kSeeks;
  iterator_.clear();
  due_ = due;
  // Another kLatest iterator would skip the records that were written since the first iterator.
  if (resume_.at == At::kLatest) resume_ = {At::kTrimHorizon};
}

void ShardReading::TryAgain(const Error& error, bool is_throttle, Instant now, Rng& rng,
                            std::vector<ConsumerEvent>& events) {
  due_ = std::max(now + backoff_.Next(rng), requested_ + options_.least_gap);
  if (is_throttle || std::exchange(failing_, true)) return;
  events.emplace_back(RequestsFailing{shard_, error});
}

void ShardReading::NoteGap(const std::string& reason, UnixMillis before) {
  gap_ = StreamGap{.shard = shard_,
                   .last = position_,
                   .after = position_.created,
                   .before = before,
                   .reason = reason};
}

void ShardReading::OnListed(bool is_listed, Instant begun, Moment at, Rng& rng,
                            std::vector<ConsumerEvent>& events) {
  // A listing that began earlier proves nothing: it may contain the shard, or not contain it yet.
  if (!is_missing() || begun < missing_at_) return;
  if (is_listed) {
    Seek(at.now);
    return TryAgain({Code::kNotFound, fmt::format("shard {} is listed, but not found", shard_)},
                    false, at.now, rng, events);
  }
  NoteGap("the service has removed the shard", at.wall);
  stage_ = Stage::kEnded;
}

std::optional<ChangeBatch> ShardReading::TakeBatch() {
  if (has_batch() || (!gap_ && pending_.empty())) return std::nullopt;
  ChangeBatch batch;
  batch.shard = shard_;
  if (gap_) {
    batch.gap = std::exchange(gap_, std::nullopt);
    is_gap_in_flight_ = true;
    return batch;
  }
  std::size_t bytes = 0;
  std::size_t count = 0;
  do {
    bytes += pending_.front().bytes;
    after_batch_ = AddToBatch(std::move(pending_.front()), batch);
    pending_.pop_front();
  } while (!pending_.empty() && ++count < options_.batch_records &&
           bytes + pending_.front().bytes <= options_.batch_bytes);
  return batch;
}

// A completed gap does not move the position: records after it may be trimmed too.
void ShardReading::OnCompleted() {
  is_gap_in_flight_ = false;
  if (after_batch_) MoveTo(*std::exchange(after_batch_, std::nullopt));
  if (stage_ == Stage::kEnded && pending_.empty()) MoveTo({At::kEnd});
}

void ShardReading::MoveTo(ShardPosition position) {
  // A damaged record may have no time: the time of its predecessor is a lower bound too.
  if (!position.created) position.created = position_.created;
  position_ = position;
  resume_ = std::move(position);
  gap_is_known_ = false;
}

}  // namespace weir::dynamo
