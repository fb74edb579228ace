#include "weir/kinesis/service_calls.h"

#include <algorithm>
#include <utility>

#include "weir/kinesis/pipeline/record_results.h"

namespace weir::kinesis {
namespace {

/// After the last expiry of a record in a request, the producer waits this long for the response.
/// This is less than kLastWait, so that the results of the records say why the request failed.
constexpr nanoseconds kResponseWait = kLastWait - std::chrono::milliseconds(100);

Instant LastExpiry(const std::vector<KinesisRecord>& records) {
  Instant last = records.front().expires;
  for (const KinesisRecord& record : records) {
    for (const UserRecord& user : record.records) last = std::max(last, user.expires);
  }
  return last;
}

}  // namespace

PutResponse PutResponseOf(WireFormat format, tl::expected<JsonReply, AwsFailure> reply) {
  if (!reply) return tl::unexpected(std::move(reply.error()));
  auto entries = ReadPutRecords(format, reply->body);
  if (entries) return *std::move(entries);
  // The records may have been stored.
  return tl::unexpected(AwsFailure{.kind = FailureClass::kAmbiguous,
                                   .code = "UnreadableAnswer",
                                   .message = std::move(entries.error().message),
                                   .maybe_applied = true});
}

Result<ShardPage> ShardPageOf(WireFormat format, const tl::expected<JsonReply, AwsFailure>& reply) {
  if (!reply) return Fail(ToError(reply.error()));
  return ReadListShards(format, reply->body);
}

// If no record of a request can be retried any more, the producer waits only a little longer for
// its response.
Deadline PutDeadline(Deadline usual, const std::vector<KinesisRecord>& records) {
  const Instant expiry_limit = usual.at() - kResponseWait;
  if (records.front().expires >= expiry_limit) return usual;
  const Instant last = LastExpiry(records);
  return last >= expiry_limit ? usual : Deadline::At(last + kResponseWait);
}

}  // namespace weir::kinesis
