// The bound of a fleet on hosts with wrong clocks, in true time, read from the table's own stream.
#pragma once

#include <string>
#include <vector>

#include "weir/dynamo/fleet_clock_fixture.h"

namespace weir::dynamo {

/// The result for one run.
struct ClockVerdict {
  std::vector<std::string> broken;  ///< a message for each promise that was
  int jumps = 0;                    ///< times that a write moved `rf` far ahead
  int set_back = 0;                 ///< times that one moved it back
  int moved_ahead = 0;              ///< writes that moved one that was far ahead
  int marked = 0;                   ///< writes that stored w_ahead
  int compared = 0;                 ///< refusals that were held against a reference bucket
};

/// The terms of docs/design/time.md, "On DynamoDB", one by one; `late`: from the time that a write
/// is dated by to the instant at which it is applied.
///
/// * For all s < t: takes in (s, t] <= capacity + rate * (t - s + 6 s + late), and one capacity for
///   each time in between that `rf` was moved far ahead. Such a time is one that is set back later.
/// * `rf` is only set back from far ahead, after it has not moved for a minute (less 6 s), and no
///   tokens come with that but those of the time after this minute (and 6 s).
/// * After the client is gone, a request is refused only if a reference bucket in true time refuses
///   it, which begins with the tokens that are stored then and is refilled later: by 1 s, since
///   refusals may be from an image of that age, 6 s and `late`; and if `rf` is far ahead then, by
///   60 s and the 10 s until a request reads the item.
ClockVerdict JudgeClockFleet(const ClockFleetRecord& record, milliseconds late);

}  // namespace weir::dynamo
