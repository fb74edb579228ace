// Lists the audit events of one subject in an archive.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weir/archive/archive_line.h"
#include "weir/aws/s3/s3_bucket.h"
#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/runtime/deadline.h"

namespace weir {

struct ArchiveQuery {
  std::string subject;                ///< as that of AuditLog::List
  std::string namespace_id{};         ///< empty: events of all namespaces
  std::string after{};                ///< the id of an event: only older events; empty: all
  std::optional<UnixMillis> start{};  ///< the time of the first event
  std::optional<UnixMillis> end{};    ///< the time before which events are
  std::size_t most = 100;             ///< events; at least 1
};

/// The bounds on objects. What passes one is reported, and the other objects are read.
struct ArchiveBounds {
  std::size_t max_packed = std::size_t{16} << 20;    ///< bytes of one object
  std::size_t max_unpacked = std::size_t{64} << 20;  ///< bytes of one object
  std::size_t max_reported = 100;  ///< lines of ArchivePage::unreadable; the last one counts more
};

struct ArchivePage {
  std::vector<ArchivedEvent> events;  ///< the newest first
  std::string next;                   ///< the `after` of the next page; empty: this is the last one
  /// Objects and lines that cannot be read: "KEY, line 3: the reason".
  std::vector<std::string> unreadable;
};

/// An opened archive.
struct Archive {
  S3Bucket& bucket;
  std::string prefix;                      ///< ArchiveUrl::prefix
  std::function<Deadline()> each_request;  ///< returns the deadline of the next request
  ArchiveBounds bounds{};
};

/// Reads the partitions from the latest day on, until there are enough events. Only partitions of
/// days in the range are listed. Blocks, and must not be called within a callback.
///
/// The order is that of the days of the partitions and, within a day, of the ids. An object with
/// events of several days is in the partition of its earliest event; its later events may then be
/// after events that are older, and a page that begins after them leaves them out. Weir's archiver
/// makes an object for each event. An event that is archived twice is returned once.
///
/// Fails as CheckAuditPage, and with the error of a request; an object that was deleted in the
/// meantime, or that S3 does not return in its storage class, is reported in `unreadable`.
[[nodiscard]] Result<ArchivePage> ReadArchive(const Archive& archive, const ArchiveQuery& query);

}  // namespace weir
