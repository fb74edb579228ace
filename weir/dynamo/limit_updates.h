// The limits of one bucket between the image that was seen and the write that is planned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/dynamo/bucket_plan.h"

namespace weir::dynamo {

inline constexpr int kNowhere = -1;

/// One limit on its way from the image to what the write leaves. A value.
struct LimitUpdate {
  std::string name;
  int old_index = kNowhere;  ///< in the image
  bool asked = false;        ///< the request names it
  bool extra = false;        ///< afterwards: it is not configured
  bool absent = false;       ///< not in the image, and the request does not create it
  bool evicted = false;      ///< leaves before it is full, to make room
  Quota quota;               ///< of the whole bucket, afterwards
  Quota share;               ///< of this shard, afterwards
  Meter before;              ///< as the image has it; of one that joins, as it begins
  std::int64_t gain = 0;     ///< what came back since, whether or not there is room for it
  std::int64_t gain_up = 0;  ///< the same, rounded up
  Meter conformed;           ///< brought to now, and to the new quota
  Meter judged;              ///< what a take is tested against: `conformed`, or an override's copy
  MeterAmounts amounts;      ///< of the request
  /// The least that a take may leave: 0, or as far below as an override's capacity is greater.
  std::int64_t least = 0;
};

/// What the limits of the item are before a request and after it; those that it names first, in
/// their order. `now` is not before the image's time.
///
/// * Configured limits of a take get their parameters, and all others of the item become extras.
/// * An override is judged by a copy of a configured limit, and leaves its parameters; an extra
///   gets its parameters if something is taken.
/// * An adjust changes no parameters. What it takes from a limit that is not there, or from an
/// extra
///   that is full, makes an extra.
std::vector<LimitUpdate> LimitUpdatesOf(const BucketImage& image, const BucketRequest& request,
                                        UnixMillis now);
/// All limits are stored with the parameters that the lines have.
bool Conforms(const BucketImage& image, const std::vector<LimitUpdate>& lines);
/// Of a bucket that does not exist: all limits that are to be stored join, full.
std::vector<LimitUpdate> NewLimitUpdates(const BucketRequest& request);

/// Evicts extras, the nearest to full first, until kMostMeters remain. For an override none that is
/// in debt: kFailedPrecondition if that is not enough.
[[nodiscard]] Status MakeRoom(std::vector<LimitUpdate>& lines, const BucketRequest& request);
/// What is known of limits that left early, once these lines are written at `now`.
std::optional<EarlyLeavers> GoneAfter(const BucketImage& image,
                                      const std::vector<LimitUpdate>& lines, UnixMillis now);

/// True where refilling now, and giving back what is given back, would stop at the capacity.
bool Overflows(const LimitUpdate& line);

/// kOutOfRange where an adjust would leave more debt than kMaxDebt.
[[nodiscard]] Status CheckDebt(const std::vector<LimitUpdate>& lines, const BucketKey& key);

}  // namespace weir::dynamo
