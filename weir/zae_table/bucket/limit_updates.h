// The limits of one bucket, from the image that was seen to the planned write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/zae_table/bucket/bucket_plan.h"

namespace weir::dynamo {

inline constexpr int kNotInImage = -1;

/// One limit in the image and after the planned write. A value.
struct LimitUpdate {
  std::string name;
  int old_index = kNotInImage;  ///< in the image; kNotInImage: it joins
  bool asked = false;           ///< the request names it
  bool extra = false;           ///< after the write it is not configured
  bool absent = false;          ///< it is not in the image, and the request does not create it
  bool evicted = false;         ///< removed before it is full, since the item has too many limits
  Quota quota;                  ///< the quota of the whole bucket, after the write
  Quota share;                  ///< this shard's share of the quota, after the write
  Meter before;                 ///< in the image; of a limit that joins, its first state
  std::int64_t gain = 0;        ///< refill since the image, not bounded by the capacity
  std::int64_t gain_up = 0;     ///< the same, rounded up
  Meter conformed;              ///< `before`, refilled until now and changed to the new quota
  Meter judged;  ///< the meter that takes are judged by: `conformed`, or a copy for an override
  MeterAmounts amounts;  ///< the amounts of the request, for this limit
  /// The least balance that a take may leave: 0, or for a copy the capacity that is stored minus
  /// that of the override.
  std::int64_t least = 0;
};

/// Returns the limits of the item before and after a request. Those that the request names come
/// first, in their order. A `now` before the image's time counts as that time.
///
/// * A take of configured limits gives them its parameters; all others of the item become extras.
/// * An override is judged by a copy of a configured limit, whose parameters stay. An extra gets
///   the parameters of the override if the request uses any of it.
/// * An adjust changes no parameters. If it uses a limit that is not in the item, or an extra
///   that is full, the limit becomes an extra with the parameters of the request.
std::vector<LimitUpdate> LimitUpdatesOf(const BucketImage& image, const BucketRequest& request,
                                        UnixMillis now);
/// Returns true if the item stores all limits with the parameters in `lines`.
bool Conforms(const BucketImage& image, const std::vector<LimitUpdate>& lines);
/// Returns the limits of a bucket that does not exist: all that are to be stored join, and are
/// full.
std::vector<LimitUpdate> NewLimitUpdates(const BucketRequest& request);

/// Evicts extras, the nearest to full first, until kMaxMeters limits remain. A take with an
/// override evicts none that is in debt, and kFailedPrecondition is returned if that is not enough.
[[nodiscard]] Status EvictExtras(std::vector<LimitUpdate>& lines, const BucketRequest& request);
/// Returns the item's record of limits that were evicted early, after these lines are written at
/// `now`.
std::optional<EvictedLimits> EvictedAfter(const BucketImage& image,
                                          const std::vector<LimitUpdate>& lines, UnixMillis now);

/// Returns true if a refill at this time, with the returns of the request, would exceed the
/// capacity.
bool Overflows(const LimitUpdate& line);

/// Returns kOutOfRange if an adjust would leave more debt than kMaxDebt.
[[nodiscard]] Status CheckDebt(const std::vector<LimitUpdate>& lines, const BucketKey& key);

}  // namespace weir::dynamo
