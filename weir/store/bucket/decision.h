// The result of a request for tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/time.h"

namespace weir {

/// The wait of a request that is refused as long as the limits stay the same. A caller must not add
/// it to a time without a check for overflow.
inline constexpr milliseconds kNeverAdmitted{1'000'000'000'000'000};

/// The state of one limit of a charged bucket at the time of the decision. Millitokens.
struct LimitStatus {
  std::string entity;
  std::string resource;
  std::string limit;
  std::int64_t capacity = 0;
  /// The balance before the decision; negative: debt. If the store divides the bucket into shards,
  /// this is the balance of the shards on which the request was tried; others may have more.
  std::int64_t available = 0;
  std::int64_t requested = 0;  ///< 0: the request does not take from this limit
  bool exceeded = false;
  milliseconds retry_after{0};  ///< 0 unless exceeded

  friend bool operator==(const LimitStatus&, const LimitStatus&) = default;
};

/// The result of a request: all charges were taken, or none.
struct Decision {
  bool admitted = false;
  /// If refused, the smallest wait in whole ms after which the same request is admitted if no other
  /// request changes the buckets. 0 if admitted. kNeverAdmitted if a limit of 0 blocks it, or if
  /// the parts of a group request take more than a capacity together.
  milliseconds retry_after{0};
  /// True if a response of the store was lost and the request was sent again: it was charged at
  /// least once, perhaps twice.
  bool maybe_charged_twice = false;
  /// All limits of all charged buckets, in the order of the charges, except limits of 0. But if
  /// limits of 0 refuse the request, this contains only them.
  std::vector<LimitStatus> limits;
  /// If admitted, the shard that was charged for each charge. An adjust of the request must pass it
  /// in Charge::shard. Only the store interprets it. Empty means 0 for all charges.
  std::vector<std::uint32_t> shards{};
  /// True if no limit refused the request, but other clients wrote to the same buckets until the
  /// store gave up or the deadline passed. No tokens are taken; another attempt after `retry_after`
  /// may succeed.
  bool contended = false;
  /// If the store divides the bucket and tried only one part, the number of parts, which are equal;
  /// `available` describes that one part.
  std::uint32_t of_shards = 1;
  /// True if no limit refused the request, but a bucket stores other parameters than the target,
  /// and the store saw them after Charge::resolved_at. Nothing was taken or changed. The caller
  /// must resolve the limits again without a cache, and repeat the request. `retry_after` is 0.
  bool outdated = false;

  friend bool operator==(const Decision&, const Decision&) = default;
};

}  // namespace weir
