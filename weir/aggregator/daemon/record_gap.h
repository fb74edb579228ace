// The gaps of records that left the stream, and of those that can never be counted. A gap of the
// latter covers a minute, so that all of them in this minute share it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "weir/dynamodb/streams/change_record.h"
#include "weir/dynamodb/streams/consumer_step.h"
#include "weir/zae_table/records/usage_gap.h"

namespace weir::dynamo {

/// One or more records that are not counted.
struct RecordGap {
  UsageGap gap;  ///< its position is the number of the first of them
  std::size_t records = 1;
  std::size_t passed = 1;  ///< the records from the first of them to the last, good ones included
  std::string reason;      ///< of the first of them
};

/// The time of a gap of bad records. The shortest window of usage has an hour, so that a gap of a
/// minute says little less than a gap of each record.
inline constexpr milliseconds kRecordGapTime{60'000};

UsageGap GapOfLost(const StreamGap& gap);

/// Returns the gaps of the damaged records of a batch. `now` is the time of records without one,
/// unless the batch has others.
std::vector<RecordGap> GapsOfDamaged(const ChangeBatch& batch, UnixMillis now);

/// Returns the gap of the record at `first`, which is bad for this reason, and of the bad records
/// of the same minute that follow it without one in between that is to be counted or archived.
RecordGap GapOfBadRecords(const ChangeBatch& batch, std::size_t first, std::string reason);

}  // namespace weir::dynamo
