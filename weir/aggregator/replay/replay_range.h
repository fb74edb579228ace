// The records that a replay reads again.
#pragma once

#include <string>

#include "weir/base/result.h"
#include "weir/dynamodb/streams/consumer_step.h"
#include "weir/dynamodb/streams/shard_lease.h"

namespace weir::dynamo {

/// The sequence numbers are normalized.
struct ReplayRange {
  std::string shard{};
  std::string from{};  ///< of the first record
  std::string to{};    ///< of the last record, which must have been read before
};

/// Returns kInvalidArgument if the range ends before it begins.
[[nodiscard]] Status CheckRange(const ReplayRange& range);

/// Returns kFailedPrecondition unless all records of the shard up to `to` were read: otherwise the
/// watermarks would pass changes before `from` that are not counted yet. kNotFound if the shard has
/// no lease, and the error of its lease if that is damaged.
[[nodiscard]] Status CheckRead(const ReplayRange& range, const StoredLeases& stored);

/// Returns whether the batch has a record that is not earlier than the range.
bool HasRecordFrom(const ReplayRange& range, const ChangeBatch& batch);

/// Removes the records outside the range from the batch. Returns true if the range has no records
/// after the batch.
bool Clip(const ReplayRange& range, ChangeBatch& batch);

}  // namespace weir::dynamo
