// The results and deadlines of a producer's calls to the service. Inside of the producer only.
#pragma once

#include <vector>

#include "weir/aws/json_client.h"
#include "weir/kinesis/pipeline/put_response.h"
#include "weir/kinesis/wire/record.h"
#include "weir/kinesis/wire/wire.h"
#include "weir/runtime/deadline.h"

namespace weir::kinesis {

/// Returns the response to PutRecords. A response that cannot be read is an ambiguous failure.
PutResponse PutResponseOf(WireFormat format, tl::expected<JsonReply, AwsFailure> reply);
/// Returns the response to ListShards.
Result<ShardPage> ShardPageOf(WireFormat format, const tl::expected<JsonReply, AwsFailure>& reply);

/// Returns the deadline of a PutRecords request with these records: `usual`, or a little after the
/// last record expires if that is earlier. REQUIRES: there is a record.
Deadline PutDeadline(Deadline usual, const std::vector<KinesisRecord>& records);

}  // namespace weir::kinesis
