// The use of one bucket that is not in usage snapshots yet: it is counted next to the bucket, under
// the same lock, and stored with it. Values; the caller holds the lock.
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

/// Returns the start of the hour of a change at `now`. Times before 1970 and after 9999, which no
/// store lists, are those years'.
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

/// Returns true if a change at `now` belongs to the open hour. A caller that is up to kMaxAhead
/// behind the bucket is counted in the bucket's hour.
inline bool IsOpenAt(const BucketUse& use, UnixMillis now) {
  const auto since = static_cast<std::uint64_t>(now.value) -
                     static_cast<std::uint64_t>(use.hour.value - kMaxAhead.count());
  return since < static_cast<std::uint64_t>(kHourMillis + kMaxAhead.count());
}

/// In the following functions, `limits` are the configured limits of the bucket.

/// Ends the open hour, if there is one, and opens the one of `now`.
void OpenHour(BucketUse& use, std::span<const Limit> limits, UnixMillis now);
/// Ends the open hour, if there is one: it becomes one of `more`.
void EndHour(BucketUse& use, std::span<const Limit> limits);
/// Moves the open hour's use to the names of the limits, before the bucket gets other limits, of
/// which there will be `count`.
void MoveToNames(BucketUse& use, std::span<const Limit> limits, std::size_t count);
/// Counts a change of a configured limit in the open hour. REQUIRES: an hour is open.
inline void CountConfigured(BucketUse& use, std::size_t limit, std::int64_t amount) {
  ++use.events;
  AddSaturating(use.used[limit], amount);
}
/// Counts by name, in the open hour: a change of an extra limit, or, if `overdrawn`, also an
/// overdraft. A configured limit's overdraft has amount 0 and no event.
void CountNamed(BucketUse& use, const LimitUse& change, std::int64_t events);

bool IsEmpty(const BucketUse& use);
/// Returns true if TakeEnded would return an hour.
bool HasEnded(const BucketUse& use);
/// Removes and returns the hours that have ended.
std::vector<HourOfUse> TakeEnded(BucketUse& use);
/// Returns all hours by name, the open one too, in the order of time.
std::vector<HourOfUse> HoursOf(const BucketUse& use, std::span<const Limit> limits);

/// Adds `added` to the hour with its start, which is created if there is none.
void AddTo(std::vector<HourOfUse>& hours, const HourOfUse& added);

}  // namespace weir
