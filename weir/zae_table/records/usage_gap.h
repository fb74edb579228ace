// Spans of time whose usage may be incomplete, because changes expired from the stream before they
// were counted.
//
// The item: PK `_/SYSTEM#`, SK `#USAGE_GAP#<until>#<stream shard>#<position>`; stream_shard,
// position, gap_from, gap_until S; ttl N, `retention_days` after the gap's end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weir/base/done.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/deadline.h"
#include "weir/zae_table/records/usage_item.h"

namespace weir::dynamo {

struct UsageGap {
  std::string stream_shard;
  std::string position;  ///< the sequence number after which records are lost; may be empty
  UnixMillis from;       ///< the time of the last change counted before the gap; whole seconds
  UnixMillis until;      ///< the time of the first change after the gap; whole seconds

  friend bool operator==(const UsageGap&, const UsageGap&) = default;
};

/// Returns the put of a gap. It may be repeated.
Write GapWrite(const UsageGap& gap, std::int64_t retention_days = kUsageRetentionDays);
/// Returns nothing for an item of another shape.
std::optional<UsageGap> ReadGap(const Item& item);

struct UsageGaps {
  std::vector<UsageGap> gaps;
  bool has_more = false;  ///< there are further gaps
};

/// Returns the first `max_gaps` (at least 1) gaps that overlap the time from `from` until `until`,
/// in the order of their ends. The table must outlive the call.
void ListGaps(Table& table, UnixMillis from, UnixMillis until, std::size_t max_gaps,
              Deadline deadline, Done<UsageGaps> done);

}  // namespace weir::dynamo
