// One request's part on one bucket, as it waits in the bucket's actor, and its outcome.
#pragma once

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/store/bucket_store.h"
#include "weir/store/charge.h"

namespace weir::dynamo {

/// Ascending in the order in which parts were accepted; unique within a process.
using PartId = std::uint64_t;

/// A timer that never rings.
inline constexpr Instant kNoTime{INT64_MAX};

/// Millitokens, one for each limit of a target.
using LimitAmounts = absl::InlinedVector<std::int64_t, 4>;

/// What one request asks of one bucket (a shard). Owned by the bucket's actor until its outcome.
struct Part {
  enum class Kind {
    kLook,      ///< to see the item, not as it was before `came`
    kTake,      ///< all amounts, only if they are available
    kAdjust,    ///< signed corrections, whatever is available
    kGiveBack,  ///< tokens that were taken for a request that was not admitted; no caller waits
    kConform,   ///< the target's limits are to be stored, by an image that comes after the part
    kRepair,    ///< the same for a take that is refused: if that is easy. Or rf is set back
    kWait,      ///< nothing: its call waits for something else, until its deadline
  };
  PartId id = 0;
  Kind kind = Kind::kTake;
  std::uint64_t call = 0;  ///< the call that it belongs to, for the outcome
  std::size_t index = 0;   ///< among the parts of its call
  TargetPtr target{};
  LimitAmounts amounts{};
  /// The bucket time at `came`, by the caller.
  UnixMillis now{};
  Instant came{};
  /// When the caller is answered at the latest; kNoTime: never.
  Instant answer_by = kNoTime;
  /// A part that no write carries is dropped then; a caller may have been answered before.
  Instant drop_at = kNoTime;
  Instant resolved_at{INT64_MAX};  ///< Charge::resolved_at
  /// The number of shards that the caller's amounts were chosen for; 0: the key names a bucket of
  /// its own.
  std::uint32_t shards = 0;
  AdjustId token{};  ///< of kAdjust
  /// Of kAdjust: the token is recorded in the table, and counts once there.
  bool is_recorded = false;
  PartId twin = 0;  ///< of a repeated adjust: the pending one, whose outcome it shares

  /// A correction, which no balance refuses.
  bool is_adjust() const { return kind == Kind::kAdjust || kind == Kind::kGiveBack; }
  bool is_nothing() const {
    return std::ranges::all_of(amounts, [](std::int64_t amount) { return amount == 0; });
  }

  // Maintained by the actor.
  bool has_image = false;    ///< an image came after the part
  bool carried = false;      ///< by a write that may still be applied
  bool answered = false;     ///< the caller has its answer
  bool keeps = false;        ///< of a take that is answered: its request was admitted
  bool repeated = false;     ///< may have been applied before, by a write that is not known to be
  int lost = 0;              ///< writes with it that failed because of other processes
  LimitAmounts available{};  ///< in the latest plan, before it
};

/// What the actor reports of a part, once for each part whose caller waits.
struct PartOutcome {
  enum class Kind {
    kSeen,       ///< of a look: the image is up to date
    kApplied,    ///< charged, adjusted or stored
    kRefused,    ///< a take: nothing was charged; `wait` until it may be
    kContended,  ///< a take: nothing was charged; only other processes' writes were in the way
    kOutdated,   ///< a take: nothing was charged; Decision::outdated
    kDivided,    ///< nothing was charged; the bucket has other shards than the call assumes
    kFailed,     ///< `error`; `in_doubt`: it may have been charged all the same
  };
  Kind kind = Kind::kApplied;
  PartId part = 0;
  std::uint64_t call = 0;
  std::size_t index = 0;
  LimitAmounts available{};  ///< of each limit before the part; of kApplied and kRefused takes
  milliseconds wait{0};      ///< of kRefused
  absl::InlinedVector<milliseconds, 4> waits{};  ///< of each limit, of kRefused
  bool in_doubt = false;    ///< it may have been charged (with kApplied: twice)
  bool is_carried = false;  ///< of kFailed: a write still carries it, and the actor settles it
  bool is_missing = false;  ///< of kDivided: shards are missing, or have an older count
  std::optional<Error> error{};
  std::optional<AdjustId> token{};  ///< of an adjust that ends, also if its caller was answered
};

}  // namespace weir::dynamo
