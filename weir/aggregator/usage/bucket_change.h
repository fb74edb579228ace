// The consumption that one change record of a bucket's item shows.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "weir/aggregator/sequence_number.h"
#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/dynamodb/streams/change_record.h"
#include "weir/store/bucket/bucket_key.h"

namespace weir::dynamo {

struct LimitDelta {
  std::string_view limit;
  std::int64_t millitokens = 0;  ///< negative: more was given back than taken
};

/// One insertion or modification of a bucket's item. Its views are into the record.
struct BucketChange {
  std::size_t record = 0;  ///< index in the batch
  SequenceNumber sequence;
  std::string_view namespace_id;
  BucketKey bucket;
  UnixMillis at;                              ///< decides the window
  absl::InlinedVector<LimitDelta, 4> deltas;  ///< of limits whose consumption changed
  std::int64_t write_units = 0;               ///< the delta of the internal limit `wcu`
  bool is_fenced_write = false;               ///< a fenced write of Weir made the change
};

/// The greatest change of one limit in one record, in millitokens. No client makes a greater one.
inline constexpr std::int64_t kMaxMillitokens = 100'000'000'000'000'000;

/// Returns the change; nothing for a record that is not of a bucket's item, or of its removal.
/// kDataLoss, with the reason, if the record cannot be counted: no valid sequence number or time,
/// a shard that no bucket has (kMaxShards bounds the watermarks of a usage item), an image that is
/// missing, a counter that is no whole number or changed by more than kMaxMillitokens. The record
/// must outlive the result.
///
/// The delta of a limit is the change of its counter `tc`. A counter that the old image does not
/// have counts from 0, and so does a counter that a client replaced when it gave the limit its
/// first balance. In a new item, only limits that have a balance and a capacity count:
/// zae-limiter's aggregator copies stale counters of other limits to new shards.
[[nodiscard]] Result<std::optional<BucketChange>> ReadChange(const ChangeRecord& record,
                                                             std::size_t index);

/// Returns the number of the record; kDataLoss if it is invalid.
[[nodiscard]] Result<SequenceNumber> SequenceOf(const ChangeRecord& record);

}  // namespace weir::dynamo
