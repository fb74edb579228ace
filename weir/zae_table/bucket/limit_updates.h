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
  int old_index = kNotInImage;  ///< in the image; kNotInImage: it is not there
  bool asked = false;           ///< the request names it
  bool extra = false;           ///< after the write it is not configured
  bool absent = false;          ///< it is not in the image, and the request does not create it
  bool evicted = false;         ///< removed before it is full, since the item has too many limits
  Quota quota;                  ///< the quota of the whole bucket, after the write
  Quota share;                  ///< this shard's share of the quota, after the write
  Meter before;                 ///< in the image; of a limit that joins: its first state
  std::int64_t gain = 0;        ///< refill since the image, not bounded by the capacity
  std::int64_t gain_up = 0;     ///< the same, rounded up
  Meter conformed;              ///< `before`, refilled until now and changed to the new quota
  Meter judged;  ///< the meter that decides if takes fit: `conformed`, or a copy for an override
  MeterAmounts amounts;  ///< the amounts of the request, for this limit
  /// The minimum balance after a take: 0, or for a copy the stored capacity minus the capacity of
  /// the override.
  std::int64_t least = 0;
};

/// Returns the limits of the item before and after a request. Limits that the request names come
/// first, in the order of the request. A `now` before the image's time counts as that time.
///
/// * A take of configured limits gives them its parameters; all other limits of the item become
///   extras.
/// * A take with an override of a configured limit is judged by a copy of the limit; the stored
///   parameters stay. An override of any other limit makes it an extra with the parameters of the
///   override, if tokens are taken from it.
/// * An adjust that takes tokens from a limit that is not in the item, or from an extra that is
///   full, makes it an extra with the parameters of the request. It changes no other parameters.
std::vector<LimitUpdate> LimitUpdatesOf(const BucketImage& image, const BucketRequest& request,
                                        UnixMillis now);
/// Returns true if the item stores all limits with the parameters in `updates`, and the same of
/// them as extras.
bool Conforms(const BucketImage& image, const std::vector<LimitUpdate>& updates);
/// Returns the limits of a bucket that does not exist: all that are to be stored join, and are
/// full.
std::vector<LimitUpdate> NewLimitUpdates(const BucketRequest& request);

/// Evicts extras, the nearest to full first, until kMaxMeters limits remain or no extra is left. A
/// take with an override evicts no limit in debt, and fails with kFailedPrecondition if too many
/// limits remain.
[[nodiscard]] Status EvictExtras(std::vector<LimitUpdate>& updates, const BucketRequest& request);
/// Returns the item's record of limits that were evicted before they were full (w_gone), as it is
/// after `updates` are written at `now`.
std::optional<EvictedLimits> EvictedAfter(const BucketImage& image,
                                          const std::vector<LimitUpdate>& updates, UnixMillis now);

/// Returns true if a refill at this time, with the returns of the request, would exceed the
/// capacity.
bool Overflows(const LimitUpdate& update);

/// Returns kOutOfRange if an adjust would leave more debt than kMaxDebt.
[[nodiscard]] Status CheckDebt(const std::vector<LimitUpdate>& updates, const BucketKey& key);

}  // namespace weir::dynamo
