// The time of a service, from the Date headers of its responses: T = offset + B, where B is the
// machine's time since boot. The wall clock only influences how soon T is known. Mechanism:
// docs/design/time.md.
//
//   unknown --(agrees with the wall clock, or two responses agree)--> known
//   known --(three responses exclude T; behind, or ahead by over a minute)--> known, stepped
//   known --(three responses exclude T; ahead by up to a minute)--> slowing --> known
#pragma once

#include <optional>

#include "weir/base/time.h"

namespace weir {

/// A response: its Date header, which is rounded down to seconds, and the times since boot between
/// which the service wrote it.
struct ServerDate {
  UnixMillis date;
  nanoseconds sent;
  nanoseconds received;
};

/// Not thread-safe, no I/O.
class ServerTime {
 public:
  /// `wall` is the wall time when the response was received. T is determined by the first response
  /// that agrees within 2 s with the wall clock or with the response before it. Afterwards T
  /// changes only if three responses in a row, over at least 10 s, exclude it by more than 2 s, all
  /// on the same side: if T is behind, it steps forward; if it is ahead by up to a minute, it slows
  /// by 5 % until it is right; if it is further ahead, it steps back.
  void Observe(const ServerDate& response, UnixMillis wall);

  /// Returns T; nothing until it is known. T never goes backwards except at a step back.
  std::optional<UnixMillis> Now(nanoseconds boot) const;
  /// Like Now; returns nothing unless a response in the ten seconds before `boot` agreed with T and
  /// none since then excluded it.
  std::optional<UnixMillis> ConfirmedNow(nanoseconds boot) const;

 private:
  // The bounds of T - B, from one or several responses.
  struct Range {
    milliseconds low{0};
    milliseconds high{0};
  };
  // Consecutive responses that exclude T, all on the same side.
  struct Run {
    int count = 0;
    bool is_behind = false;
    nanoseconds first{0};
    Range range;
  };

  static Range RangeOf(const ServerDate& response);
  /// Determines T, if `range` agrees with the wall clock or with the previous response.
  void BeginRange(const Range& range, milliseconds wall_offset);
  /// Moves T to the nearest end of the run's range.
  void CorrectDrift(nanoseconds boot);
  /// Returns T - B, including the slowing.
  milliseconds OffsetAt(nanoseconds boot) const;

  std::optional<milliseconds> offset_;  // T - B, at the time slew_began_
  // The range of the previous response, while T is unknown.
  std::optional<Range> previous_;
  nanoseconds slew_began_{0};
  milliseconds slew_to_{0};  // T slows until T - B is this; at most offset_
  Run run_;
  std::optional<nanoseconds> agreed_;  // the time of the latest response, if it agreed
};

}  // namespace weir
