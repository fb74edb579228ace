// The response to a PutRecords request, and its meaning for the request as a whole.
#pragma once

#include <string>
#include <vector>

#include "weir/aws/failure.h"
#include "weir/base/result.h"

namespace weir::kinesis {

/// The response of the service for one entry of a request.
struct EntryResponse {
  std::string shard;  ///< the name of the shard, if the entry was stored
  std::string sequence_number;
  std::string code;  ///< the error code, if the entry was not stored
  std::string message;
};
using PutResponse = tl::expected<std::vector<EntryResponse>, AwsFailure>;

/// Returns one response for each of the `sent` entries of a request. If the service returned
/// another number of responses, none can be assigned to an entry: each returned response has the
/// code kCountMismatch.
std::vector<EntryResponse> MatchEntries(std::vector<EntryResponse> responses, std::size_t sent);

/// Returns whether the service may have refused the whole request for the content of one of its
/// entries.
bool MayBePoisoned(const AwsFailure& failure);

/// Returns whether the service has received nothing of the request: there was no connection, or no
/// time for it.
bool IsUnsent(const AwsFailure& failure);

/// Returns the failure class of the records of a request that failed as a whole. A request that may
/// have been applied is ambiguous, whatever its error.
FailureClass ClassOfRequest(const AwsFailure& failure);

}  // namespace weir::kinesis
