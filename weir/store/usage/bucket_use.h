// The use of one bucket that is not in usage snapshots yet: it is counted next to the bucket, under
// the same lock, and stored with the bucket. Values; the caller holds the lock.
// Mechanism: docs/design/usage.md.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/bucket_time.h"
#include "weir/base/time.h"
#include "weir/model/limit.h"
#include "weir/store/bucket/bucket_key.h"
#include "weir/store/usage/saturating.h"

namespace weir {

inline constexpr std::int64_t kHourMillis = 3'600'000;

/// Returns the start of the hour of a change at `now`. Times before 1970 count as the first hour of
/// 1970, and times after 9999 as the last hour of 9999, because no store lists other hours.
UnixMillis HourOf(UnixMillis now);

/// The use of one limit in one hour. Numbers saturate.
struct LimitUse {
  std::string limit;
  std::int64_t used = 0;  ///< millitokens, net: tokens that were given back are subtracted
  std::int64_t overdrawn = 0;

  friend bool operator==(const LimitUse&, const LimitUse&) = default;
};

/// The use of one bucket in one hour, by the names of its limits. Each name occurs once.
struct HourOfUse {
  UnixMillis start;
  std::int64_t events = 0;  ///< changes of limits
  std::vector<LimitUse> limits{};

  friend bool operator==(const HourOfUse&, const HourOfUse&) = default;
};

/// The use of a bucket since it was last moved into snapshots.
struct BucketUse {
  /// No hour is open.
  static constexpr UnixMillis kNoHour{INT64_MIN / 2};

  UnixMillis hour = kNoHour;  ///< start of the open hour
  std::int64_t events = 0;    ///< in the open hour
  /// Millitokens of each configured limit of the bucket in the open hour. Empty if no hour is open.
  absl::InlinedVector<std::int64_t, 2> used{};
  /// Hours that have ended, and the part of the open hour that is counted by name: extra limits,
  /// and overdrafts. Null if there is none; otherwise not empty, each hour once.
  std::unique_ptr<std::vector<HourOfUse>> more{};
};

/// Gets hours of a bucket that are to be added to snapshots.
using UseSink = std::function<void(const BucketKey& key, std::vector<HourOfUse> hours)>;

/// Returns true if a change at `now` belongs to the open hour. A change up to kMaxAhead before the
/// open hour belongs to it too, because the caller's time may be behind the bucket's.
inline bool IsOpenAt(const BucketUse& use, UnixMillis now) {
  const auto since = static_cast<std::uint64_t>(now.value) -
                     static_cast<std::uint64_t>(use.hour.value - kMaxAhead.count());
  return since < static_cast<std::uint64_t>(kHourMillis + kMaxAhead.count());
}

/// In the following functions, `limits` are the configured limits of the bucket.

/// Ends the open hour, if there is one, and opens the hour of `now`.
void OpenHour(BucketUse& use, std::span<const Limit> limits, UnixMillis now);
/// Ends the open hour, if there is one: its use is moved to `more`.
void EndHour(BucketUse& use, std::span<const Limit> limits);
/// Moves the open hour's use, which is counted by the indexes of the limits, to their names in
/// `more`. To be called before the bucket gets other limits; `count` is the number of the new ones.
void MoveToNames(BucketUse& use, std::span<const Limit> limits, std::size_t count);
/// Counts a change of a configured limit in the open hour. REQUIRES: an hour is open.
inline void CountConfigured(BucketUse& use, std::size_t limit, std::int64_t amount) {
  ++use.events;
  AddSaturating(use.used[limit], amount);
}
/// The number of names that CountNamed counts apart in one hour. It may be more than the number of
/// extra meters (kMaxExtraMeters), since the meters of limits that refill quickly leave within the
/// hour.
inline constexpr std::size_t kMaxNamesInHour = 64;
/// Counts, in the open hour and by name, a change of an extra limit, with its overdraft if there is
/// one; or only the overdraft of a configured limit: then `change.used` and `events` are 0. Further
/// names than kMaxNamesInHour count as kOtherLimits, unless they are of configured limits.
void CountNamed(BucketUse& use, const LimitUse& change, std::int64_t events);

bool IsEmpty(const BucketUse& use);
/// Returns true if TakeEnded would return an hour.
bool HasEnded(const BucketUse& use);
/// Removes and returns the hours that have ended.
std::vector<HourOfUse> TakeEnded(BucketUse& use);
/// Returns all hours by name, the open one too, in the order of time.
std::vector<HourOfUse> HoursOf(const BucketUse& use, std::span<const Limit> limits);

/// Adds `added` to the hour with the same start; creates this hour if there is none.
void AddTo(std::vector<HourOfUse>& hours, const HourOfUse& added);

}  // namespace weir
