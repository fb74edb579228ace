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
  std::string after{};                ///< only events older than the one with this id; empty: all
  std::optional<UnixMillis> start{};  ///< only events of this time or later
  std::optional<UnixMillis> end{};    ///< only events before this time
  std::size_t most = 100;             ///< the maximum number of events; at least 1
};

/// The bounds on objects. An object that exceeds one is reported, and the other objects are read.
struct ArchiveBounds {
  std::size_t max_packed = std::size_t{16} << 20;    ///< bytes of one object
  std::size_t max_unpacked = std::size_t{64} << 20;  ///< bytes of one object
  std::size_t max_reported = 100;  ///< lines of ArchivePage::unreadable; one more counts the rest
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

/// Reads the partitions of the days, the latest first, until there are enough events. Only
/// partitions of days in the range are listed. Blocks, and must not be called within a callback.
///
/// Events are ordered by the days of their partitions and, within a day, by their ids, the newest
/// first. An object with events of several days is in the partition of its earliest event. So its
/// later events may be listed after older events, and a page whose `after` is such an older event
/// omits the later ones. Weir's archiver makes an object for each event. An event that is archived
/// twice is returned once.
///
/// Fails like CheckAuditPage, and with the error of a request. But an object that was deleted in
/// the meantime, or that S3 does not return because of its storage class, is reported in
/// `unreadable`.
[[nodiscard]] Result<ArchivePage> ReadArchive(const Archive& archive, const ArchiveQuery& query);

}  // namespace weir
