// The user records of the Kinesis records that a reader got.
#pragma once

#include <vector>

#include "weir/kinesis/reader/reader_step.h"

namespace weir::kinesis {

/// Appends the user records of a Kinesis record of this shard to `out` and counts them, by the
/// consumer's rule (deaggregate.h). An aggregate that is dropped or damaged is counted as such.
void AppendUserRecords(const ReadShard& shard, const StoredRecord& stored, ReaderStats& stats,
                       std::vector<StreamRecord>& out);

}  // namespace weir::kinesis
