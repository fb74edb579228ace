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
struct Line {
  std::string name;
  int old_index = kNowhere;  ///< in the image
  Quota quota;               ///< of the whole bucket, afterwards
  Quota share;               ///< of this shard, afterwards
  Meter before;              ///< as the image has it
  std::int64_t gain = 0;     ///< what came back since, whether or not there is room for it
  std::int64_t gain_up = 0;  ///< the same, rounded up
  Meter conformed;           ///< brought to now, and to the new quota
  std::int64_t amount = 0;   ///< asked: over 0 takes, under 0 gives back
};

/// For a take: the target's limits, in its order. For an adjust: the limits that the bucket has.
std::vector<Line> LinesOf(const BucketImage& image, const BucketRequest& request, UnixMillis now);
/// Of a bucket that does not exist: all limits join, full.
std::vector<Line> NewLines(const BucketRequest& request);
/// Full again, whatever it was: an item whose time is over counts as none.
void Renew(std::vector<Line>& lines);

std::int64_t GivenBack(const Line& line);
std::int64_t Taken(const Line& line);
/// True where refilling now, and giving back what is given back, would stop at the capacity.
bool Overflows(const Line& line);

/// Tells a take how each limit stands and how long to wait. `behind`: how far the caller's time is
/// behind the bucket's.
void Judge(const BucketRequest& request, const std::vector<Line>& lines, milliseconds behind,
           BucketPlan& plan);
/// kOutOfRange where an adjust would leave more debt than kMaxDebt.
[[nodiscard]] Status CheckDebt(const std::vector<Line>& lines, const BucketKey& key);

/// Seconds since 1970 at which every limit is full again and has been for `fills` times as long as
/// it takes to fill it: nothing is lost then if the item goes, debt neither.
std::int64_t FullSince(UnixMillis now, const std::vector<Line>& lines, double fills);
/// When an item that is written now may go.
std::int64_t TtlAt(UnixMillis now, const std::vector<Line>& lines);

/// The place of a name; nothing where it is not there.
std::optional<std::size_t> IndexOf(const std::vector<std::string>& names, std::string_view name);

}  // namespace weir::dynamo
