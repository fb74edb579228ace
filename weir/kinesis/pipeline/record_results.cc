#include "weir/kinesis/pipeline/record_results.h"

#include "weir/aws/failure.h"

namespace weir::kinesis {
namespace {

Attempt ExpiredAt(Instant now) {
  return {.began = now,
          .ended = now,
          .code = std::string(kExpired),
          .message = "its time to live ended before it was stored"};
}

Attempt Pending(Instant began, Instant now) {
  return {.began = began,
          .ended = now,
          .code = std::string(Name(FailureClass::kAmbiguous)),
          .message = "its request had no response in time"};
}

}  // namespace

void RecordResults::AddStored(KinesisRecord record, const Attempts::Shared& attempt,
                              const std::string& sequence_number) {
  const bool is_aggregate = record.records.size() > 1;
  std::uint64_t index = 0;
  for (UserRecord& user : record.records) {
    const std::uint64_t sub_number = index++;
    if (ReleaseIfReported(user)) continue;
    user.attempts.Add(attempt);
    RecordResult& result = results_.emplace_back();
    result = {.number = user.number,
              .stored = true,
              .shard = attempt->shard,
              .sequence_number = sequence_number,
              .attempts = std::move(user.attempts),
              .maybe_duplicate = user.maybe_duplicate};
    if (is_aggregate) result.sub_number = sub_number;
    --pending_;
  }
}

void RecordResults::AddFailed(UserRecord record) {
  if (ReleaseIfReported(record)) return;
  results_.push_back({.number = record.number,
                      .attempts = std::move(record.attempts),
                      .maybe_duplicate = record.maybe_duplicate});
  --pending_;
}

void RecordResults::AddAllFailed(std::vector<UserRecord> records, const Attempts::Shared& attempt,
                                 bool maybe_stored) {
  for (UserRecord& user : records) {
    user.attempts.Add(attempt);
    user.maybe_duplicate = user.maybe_duplicate || maybe_stored;
    AddFailed(std::move(user));
  }
}

void RecordResults::AddExpired(UserRecord record, Instant now) {
  record.attempts.Add(ExpiredAt(now));
  AddFailed(std::move(record));
}

// The request may still succeed. When it ends, records that were reported here are neither reported
// again nor retried.
void RecordResults::AddOverdue(const UserRecord& record, Instant began, Instant now) {
  RecordResult result{.number = record.number,
                      .attempts = record.attempts,
                      .maybe_duplicate = true,
                      .is_in_flight = true};
  result.attempts.Add(Pending(began, now));
  result.attempts.Add(ExpiredAt(now));
  results_.push_back(std::move(result));
  --pending_;
}

bool RecordResults::ReleaseIfReported(const UserRecord& record) {
  if (record.is_reported) released_.push_back(record.number);
  return record.is_reported;
}

}  // namespace weir::kinesis
