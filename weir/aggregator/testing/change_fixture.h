// Change records for tests: of a simulated table's stream, and made by hand.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weir/dynamodb/streams/change_record.h"
#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/store/bucket/bucket_key.h"

namespace weir::dynamo {

Item ToChangeItem(const sim::Item& item);
/// Returns the record as the service reports it: with a time in whole seconds.
ChangeRecord ToChange(const sim::StreamRecord& record);

/// The counters `tc` of an item in millitokens, by limit.
using Consumed = std::map<std::string, std::int64_t>;
/// Returns the item of a bucket's shard in namespace "ns", with full limits of 1,000 tokens.
Item BucketItem(const BucketKey& bucket, const Consumed& consumed);
/// Returns the record of a modification from one state to the other. An `insert` has no old image.
ChangeRecord Changed(const BucketKey& bucket, std::uint64_t sequence, const Consumed& before,
                     const Consumed& after, UnixMillis at = {1'767'243'600'000});
ChangeRecord Inserted(const BucketKey& bucket, std::uint64_t sequence, const Consumed& after);

}  // namespace weir::dynamo
