// The listing of all shards of a stream for a reader, page by page.
//
//                Want                 Begin                 OnResponse: last page
//   idle -------------------> wanted ------> page in flight -------------------> Finish --> idle
//                               ^                  |                                |
//                               |                  | further page, failed,          | wanted again
//                               |                  | or hash keys are left out      |
//                               +------------------+--------------------------------+
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/kinesis/reader/read_failures.h"
#include "weir/kinesis/wire/read_wire.h"

namespace weir::kinesis {

/// A state machine without I/O; not thread-safe. One page is requested at a time, and a listing
/// begins at least a second after the end of the previous one.
class ShardListing {
 public:
  using Response = tl::expected<std::string, AwsFailure>;
  using Shards = std::vector<ReadShard>;

  /// The first listing is due at once. `series`: the failures of the requests for listings. `only`:
  /// a listing that has this shard is enough.
  explicit ShardListing(FailureSeries series, std::optional<ShardId> only = {})
      : only_(only), series_(series), whole_series_(series) {}

  /// Requests a listing that begins after this call: the pages of a running listing may be older
  /// than the shards that are needed.
  void Want();
  /// Returns whether a page is due or in flight.
  bool is_pending() const { return wanted_ || id_ != 0; }
  /// Returns whether another listing follows the one that runs.
  bool is_wanted_again() const { return again_; }
  /// Returns when the next page must be requested; nothing if none must be.
  std::optional<Instant> NextWake() const;
  /// Notes that the page is requested now with this id. Returns the token of the page. REQUIRES:
  /// NextWake has come; `id` is not 0.
  const std::string& Begin(std::uint64_t id);
  /// Returns whether the request with this id is the one in flight.
  bool IsInFlight(std::uint64_t id) const { return id != 0 && id == id_; }
  /// Handles the response to the request in flight. Returns all shards if the listing was read to
  /// its end: Finish must follow. A listing whose open shards do not have all hash keys has left a
  /// shard out: it is a failure, and is repeated from its first page. An error ends the reading.
  Result<std::optional<Shards>> OnResponse(const Response& response, Instant now,
                                           ReadFailures& failures);
  /// Ends a listing. If `is_repeated`, the next one follows after a random wait, which grows with
  /// each such listing.
  void Finish(bool is_repeated, Instant now, ReadFailures& failures);

 private:
  Status OnFailed(const AwsFailure& failure, Instant now, ReadFailures& failures);
  /// Returns whether found_, the shards of a whole listing, are all that the reader needs.
  bool IsEnough() const;
  /// Begins the listing again after one that was not enough.
  Status OnIncomplete(Instant now, ReadFailures& failures);
  void DropPages();
  /// Begins the listing again, after a wait.
  Status OnTokenExpired(const AwsFailure& expiry, Instant now, ReadFailures& failures);

  std::optional<ShardId> only_;
  bool wanted_ = true;    ///< the first or the next page must be requested
  bool again_ = false;    ///< another listing must follow this one
  std::uint64_t id_ = 0;  ///< the id of the request in flight; 0: none
  Instant due_{};
  std::string token_;
  Shards found_;
  std::size_t pages_ = 0;  ///< the number of pages of found_
  FailureSeries series_;
  // The failures of whole listings: expired page tokens, and hash keys that are left out. They are
  // not in series_, which each page ends: the first page of the repeated listing would end them, so
  // listings could fail without end.
  FailureSeries whole_series_;
};

}  // namespace weir::kinesis
