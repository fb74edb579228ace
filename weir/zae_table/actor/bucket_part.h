// A part: the work of one request on one bucket. The bucket's actor queues it and reports its
// outcome.
#pragma once

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/store/bucket/bucket_store.h"
#include "weir/store/bucket/charge.h"

namespace weir::dynamo {

/// Unique within a process, and ascending in the order in which parts were accepted. 0: no part.
using PartId = std::uint64_t;

/// The time of a timer that is not set.
inline constexpr Instant kNoTime{INT64_MAX};

/// CallRequest::counts_by of an adjust that may count at any time.
inline constexpr UnixMillis kAnyTime{INT64_MAX};

/// Millitokens, one for each limit of a target.
using LimitAmounts = absl::InlinedVector<std::int64_t, 4>;

/// The work of one request on one bucket, or on one shard. The bucket's actor owns it until its
/// outcome is reported.
struct Part {
  enum class Kind {
    kLook,    ///< reads the item; the next image that arrives ends it
    kTake,    ///< takes all amounts if they are available
    kAdjust,  ///< signed corrections, whatever is available
    /// Returns tokens that were taken for a request that was not admitted. No caller waits for it,
    /// except a call that gives back before it reports its refusal.
    kGiveBack,
    kConform,  ///< stores the target's limits, planned from an image newer than the part
    /// Stores the limits of a take before the take is refused, or marks or sets back an rf that is
    /// far ahead. Ends after a few failures.
    kRepair,
    kWait,  ///< no work: its call waits for missing shards, until its deadline
  };
  PartId id = 0;
  Kind kind = Kind::kTake;
  std::uint64_t call = 0;  ///< the call that gets the outcome; 0: no call
  std::size_t index = 0;   ///< among the parts of its call
  TargetPtr target{};
  LimitAmounts amounts{};  ///< by limit of the target
  UnixMillis now{};        ///< the bucket time at `began_at`, from the caller
  Instant began_at{};      ///< the time at which the request began
  /// The latest time at which the outcome is reported to the call; kNoTime: no limit.
  Instant report_by = kNoTime;
  /// The time at which the part is dropped if no write carries it. May be later than `report_by`.
  Instant drop_by = kNoTime;
  Instant resolved_at{INT64_MAX};  ///< Charge::resolved_at
  /// The number of shards for which the caller's amounts were chosen; 0: the key names a shard that
  /// is a bucket by itself.
  std::uint32_t shards = 0;
  AdjustId adjust_id{};    ///< the id of a kAdjust (IdOfPart)
  std::uint32_t paid = 0;  ///< the shard for which a kAdjust counts (Route::parts)
  /// Of kAdjust: its id is recorded in the table, so that it counts once among all processes.
  bool is_recorded = false;
  /// Of kAdjust: AdjustTerms::counts_by.
  UnixMillis counts_by = kAnyTime;
  PartId repetition_of =
      0;  ///< of a repeated adjust: the pending adjust whose outcome it shares; 0: none

  /// Returns true for a correction (kAdjust or kGiveBack), which no balance refuses.
  bool is_adjust() const { return kind == Kind::kAdjust || kind == Kind::kGiveBack; }
  /// Returns true for an adjust that must not count later than a certain time.
  bool is_bounded() const { return counts_by != kAnyTime; }
  bool is_nothing() const {
    return std::ranges::all_of(amounts, [](std::int64_t amount) { return amount == 0; });
  }

  // Maintained by the actor.
  bool has_image = false;  ///< an image has arrived that is newer than the part
  bool in_flight = false;  ///< a write that may still be applied carries it
  bool reported = false;   ///< an outcome was reported to the call, or the call needs none
  /// For a take whose caller has its result: the request was admitted, so the take stays charged.
  bool caller_keeps_tokens = false;
  /// An earlier write that carried it may have been applied; no response will show whether it was.
  bool repeated = false;
  std::int64_t returns = 1;  ///< of a kGiveBack: the number of returns or debits that it sums up
  int lost = 0;  ///< writes that carried it and failed, mostly because of other processes
  /// The available tokens of each limit before the part, in the latest plan.
  LimitAmounts available{};
};

/// The report of the actor on a part: one for each part whose call waits, and one for each adjust
/// that ends after its call has got a result.
struct PartOutcome {
  enum class Kind {
    kSeen,     ///< of a look: an image has arrived
    kApplied,  ///< charged, adjusted or stored
    kRefused,  ///< a take: nothing was charged; it may succeed after `wait`
    /// Nothing was charged, because of other processes' writes or because the queue is full.
    kContended,
    kOutdated,  ///< a take: nothing was charged; Decision::outdated
    kDivided,   ///< nothing was charged; the bucket has other shards than the call assumes
    kFailed,    ///< `error`; if `in_doubt`, it may have been charged
  };
  Kind kind = Kind::kApplied;
  PartId part = 0;
  std::uint64_t call = 0;
  std::size_t index = 0;
  LimitAmounts available{};  ///< applied and refused takes: the available tokens of each limit
                             ///< before the part
  milliseconds wait{0};      ///< kRefused: the longest wait of a limit
  absl::InlinedVector<milliseconds, 4> waits{};  ///< kRefused: the wait of each limit
  bool in_doubt = false;                         ///< it may have been charged; with kApplied: twice
  bool is_carried = false;    ///< kFailed: a write still carries it, and the actor settles it
  bool needs_shards = false;  ///< kDivided: shards are missing, or have an older count
  /// The error of kFailed; nothing for a repair whose write has no response.
  std::optional<Error> error{};
  /// The id of an adjust that ends, also if it was reported before.
  std::optional<AdjustId> adjust_id{};
};

}  // namespace weir::dynamo
