// Parses aggregates back into user records. The format: aggregate.h.
#pragma once

#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/kinesis/wire/aggregate.h"
#include "weir/kinesis/wire/hash_key.h"

namespace weir::kinesis {

/// Returns whether `data` begins with the magic, is long enough, and ends with the checksum of the
/// bytes between. Other data are one user record as they are, even if they begin with the magic.
bool IsAggregate(std::string_view data);

/// Returns the user records of an aggregate, in order; their indexes are their sub-sequence
/// numbers. The views point into `data`. Strict: returns kDataLoss with the byte offset unless
/// IsAggregate, every length and index is within its bounds, and every record has a key and data.
/// The service accepts partition keys of at most 1,024 bytes and explicit hash keys of at most 39:
/// longer ones are kDataLoss, and so are keys of all records that have together more than 64 times
/// the bytes of `data` and 64 KiB. Unknown fields are skipped if they are varints or
/// length-delimited. Uses no more memory than about twelve times the size of `data`.
[[nodiscard]] Result<std::vector<UserRecordView>> ParseAggregate(std::string_view data);

/// Returns the hash that decides which shard a user record belongs to. kDataLoss: its explicit hash
/// key is not a hash key.
[[nodiscard]] Result<HashKey> HashOf(const UserRecordView& record);

/// Returns the user records that a consumer delivers of a Kinesis record with this data and
/// partition key, read from a shard of this range (rules of awslabs/amazon-kinesis-client,
/// AggregatorUtil): a plain record always; an aggregate as a whole or, if one hash is outside of
/// the range, no record. kDataLoss: as ParseAggregate and HashOf.
[[nodiscard]] Result<std::vector<UserRecordView>> Deaggregate(std::string_view partition_key,
                                                              std::string_view data,
                                                              const HashRange& range);

}  // namespace weir::kinesis
