#include "weir/kinesis/pipeline/put_response.h"

#include <fmt/format.h>

#include "weir/kinesis/pipeline/attempts.h"

namespace weir::kinesis {

std::vector<EntryResponse> MatchEntries(std::vector<EntryResponse> responses, std::size_t sent) {
  if (responses.size() == sent) return responses;
  const EntryResponse mismatch{
      .code = std::string(kCountMismatch),
      .message =
          fmt::format("{} entries were sent, but the response has {}", sent, responses.size())};
  return std::vector<EntryResponse>(sent, mismatch);
}

bool MayBePoisoned(const AwsFailure& failure) {
  return failure.code == "ValidationException" || failure.code == "InvalidArgumentException" ||
         failure.code == "SerializationException" || failure.http_status == 413;
}

bool IsUnsent(const AwsFailure& failure) {
  return failure.http_status == 0 && !failure.maybe_applied;
}

FailureClass ClassOfRequest(const AwsFailure& failure) {
  if (failure.maybe_applied) return FailureClass::kAmbiguous;
  return failure.kind == FailureClass::kDeadline ? FailureClass::kTransient : failure.kind;
}

}  // namespace weir::kinesis
