// The attempts to store a user record, as its result reports them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/time.h"
#include "weir/kinesis/shards/shard_map.h"

namespace weir::kinesis {

struct Attempt {
  Instant began;
  Instant ended;
  std::optional<ShardId> shard;  ///< the shard that responded; nothing if none did
  /// The service's error code, one of the codes below, or the name of a FailureClass if the failure
  /// has no code; empty if the attempt succeeded.
  std::string code;
  std::string message;

  bool succeeded() const { return code.empty(); }
};

/// Codes of this producer, under the names that the Kinesis Producer Library has for them.
inline constexpr std::string_view kExpired = "Expired";
inline constexpr std::string_view kWrongShard = "Wrong Shard";
inline constexpr std::string_view kClosed = "Closed";  ///< the library has no such code
inline constexpr std::string_view kCountMismatch = "Record Count Mismatch";

/// Stores the first attempt and the latest ones, so that the list is bounded however often a record
/// is retried.
class Attempts {
 public:
  /// The maximum number of attempts that are kept.
  static constexpr std::size_t kKept = 8;

  /// Shared by the user records of one attempt, so that a failure costs each of them a pointer.
  using Shared = std::shared_ptr<const Attempt>;

  /// Adds an attempt. Beyond kKept the second oldest one is discarded. REQUIRES: not null.
  void Add(Shared attempt);
  void Add(Attempt attempt) { Add(std::make_shared<const Attempt>(std::move(attempt))); }
  /// Returns the kept attempts, the oldest first.
  const std::vector<Shared>& kept() const { return kept_; }
  /// Returns the number of all attempts, also of those that are not kept any more.
  std::uint32_t count() const { return count_; }
  /// Returns the latest kept attempt that failed for another reason than the record's expiry or the
  /// end of the producer; null if there is none. This is the cause to report to users. Valid until
  /// the next Add.
  const Attempt* LastCause() const;

 private:
  std::vector<Shared> kept_;
  std::uint32_t count_ = 0;
};

}  // namespace weir::kinesis
