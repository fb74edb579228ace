// Kinesis records back into user records. The format: aggregate.h.
#pragma once

#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/kinesis/aggregate.h"
#include "weir/kinesis/hash_key.h"

namespace weir::kinesis {

/// True where `data` begins with the magic, is long enough, and ends with the checksum of what is
/// in between. Everything else is a user record as it is, also if it begins with the magic.
bool IsAggregate(std::string_view data);

/// The user records of an aggregate, in order; their places are their sub-sequence numbers. The
/// views point into `data`. Strict: kDataLoss, saying at which byte, unless IsAggregate, every
/// length and index is within bounds and every record has a key and data. Fields that are not known
/// are passed over where they are varints or length-delimited. Never takes more than about twelve
/// times `data` of memory.
[[nodiscard]] Result<std::vector<UserRecordView>> ParseAggregate(std::string_view data);

/// The hash that decides to which shard a user record belongs. kDataLoss: its explicit hash key is
/// none.
[[nodiscard]] Result<HashKey> HashOf(const UserRecordView& record);

/// What a consumer delivers of a Kinesis record with this data and partition key, read from a shard
/// of this range (rules of awslabs/amazon-kinesis-client, AggregatorUtil): a plain record always;
/// of an aggregate everything or, if one hash lies outside of the range, nothing.
[[nodiscard]] Result<std::vector<UserRecordView>> Deaggregate(std::string_view partition_key,
                                                              std::string_view data,
                                                              const HashRange& range);

}  // namespace weir::kinesis
