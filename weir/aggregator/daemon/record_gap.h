// The gaps of records that the stream no longer has, and of bad records, which can never be
// counted. A gap of bad records covers a minute, so that all bad records of the minute share it.
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
  UsageGap gap;  ///< its position is the sequence number of the first record
  std::size_t records = 1;
  std::size_t passed = 1;  ///< the records from the first bad one to the last, good ones included
  std::string reason;      ///< why the first record is bad
};

/// The duration of a gap of bad records. The shortest window of usage is an hour, so a gap of a
/// minute is hardly less precise than one gap for each record.
inline constexpr milliseconds kRecordGapTime{60'000};

UsageGap GapOfLost(const StreamGap& gap);

/// Returns the gaps of the damaged records of a batch. A damaged record without a time gets the
/// time of the first record that is not damaged, or `now` if the batch has no such record.
std::vector<RecordGap> GapsOfDamaged(const ChangeBatch& batch, UnixMillis now);

/// Returns the gap of the record at `first`, which is bad for this reason. The gap includes the bad
/// records of the same minute that follow, up to the next record that must be counted or archived.
RecordGap GapOfBadRecords(const ChangeBatch& batch, std::size_t first, std::string reason);

}  // namespace weir::dynamo
