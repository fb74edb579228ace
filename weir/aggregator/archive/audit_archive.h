// The archive of expired audit events: one object of JSON lines for each event.
//
// Format: zae-limiter 0.17.0 (zae_limiter_aggregator/archiver.py), with three differences. An
// object has one event. Its name ends in the sequence number of the event's record, so a put that
// is repeated or arrives late replaces the object by an equal one. Each line has the namespace's
// id.
#pragma once

#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/dynamodb/streams/change_record.h"

namespace weir::dynamo {

/// A put of an object into the archive's bucket. May be repeated.
struct ArchiveObject {
  std::string key;  ///< audit/year=2026/month=01/day=31/audit-<time>-<sequence>.jsonl.gz
  std::string content_type;
  std::string content_encoding;
  std::string body;  ///< gzip; equal for equal events
};

/// Returns true if the record shows that the TTL service deleted an audit event. Events that
/// clients delete, together with an entity or a namespace, are not archived.
bool IsExpiredEvent(const ChangeRecord& record);

/// Returns the object of an event. Fields that the event does not have are null in the object.
/// kDataLoss if the record has no valid sequence number, kInternal if zlib fails.
[[nodiscard]] Result<ArchiveObject> MakeArchiveObject(const ChangeRecord& record);

/// Returns `text` in the gzip format (RFC 1952), without a name or a time.
[[nodiscard]] Result<std::string> Gzip(std::string_view text);

}  // namespace weir::dynamo
