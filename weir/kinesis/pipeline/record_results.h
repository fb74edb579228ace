// The results of the user records of a stream, and how many user records have none yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/kinesis/wire/record.h"

namespace weir::kinesis {

/// The result of one user record.
struct RecordResult {
  std::uint64_t number = 0;  ///< see UserRecord::number
  bool stored = false;
  std::optional<ShardId> shard;  ///< the shard that stored it
  std::string sequence_number;   ///< the sequence number of the Kinesis record
  /// Its index in an aggregate; nothing if it was not aggregated.
  std::optional<std::uint64_t> sub_number;
  Attempts attempts;
  /// The record may be stored more than once; if it failed, it may be stored all the same.
  bool maybe_duplicate = false;
  bool is_in_flight = false;  ///< its request was still in flight when it got this result
};

/// A record in flight gets its result at most this long after its expiry.
inline constexpr nanoseconds kLastWait = std::chrono::seconds(1);

/// Collects the results of one event; not thread-safe. Each user record that OnPut counted gets
/// exactly one result. A record that got its result while in flight (AddOverdue) is passed to
/// another Add function when its request ends. Its number is then among those that TakeReleased
/// returns.
class RecordResults {
 public:
  /// Counts a user record that gets a result later.
  void OnPut() { ++pending_; }

  /// Adds the results of all user records of a stored Kinesis record.
  void AddStored(KinesisRecord record, const Attempts::Shared& attempt,
                 const std::string& sequence_number);
  /// Adds the result of a record that failed, with the attempts that it has.
  void AddFailed(UserRecord record);
  /// Adds the results of records that failed, with `attempt` as their last attempt. `maybe_stored`:
  /// the attempt may have stored them.
  void AddAllFailed(std::vector<UserRecord> records, const Attempts::Shared& attempt,
                    bool maybe_stored);
  /// Adds the result of a record that expired at `now` or before, with an attempt that says so.
  void AddExpired(UserRecord record, Instant now);
  /// Adds the result of a record that has expired in flight, in a request sent at `began`. The
  /// caller has marked the record as reported (UserRecord::is_reported); the record stays in its
  /// request.
  void AddOverdue(const UserRecord& record, Instant began, Instant now);

  /// Removes and returns the results that were added.
  std::vector<RecordResult> TakeResults() { return std::exchange(results_, {}); }
  /// Removes and returns the numbers of records that got their results in flight and whose requests
  /// have ended.
  std::vector<std::uint64_t> TakeReleased() { return std::exchange(released_, {}); }

  /// Returns the number of user records without a result.
  std::size_t pending() const { return pending_; }

 private:
  /// If the record had its result while in flight, reports it as released and returns true.
  bool ReleaseIfReported(const UserRecord& record);

  std::vector<RecordResult> results_;
  std::vector<std::uint64_t> released_;
  std::size_t pending_ = 0;
};

}  // namespace weir::kinesis
