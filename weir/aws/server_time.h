// The time of a service, from the Date headers of its responses: T = offset + B, B being the
// machine's time since boot. The wall clock decides nothing but how soon it begins.
// Mechanism: docs/design/time.md.
#pragma once

#include <optional>

#include "weir/base/time.h"

namespace weir {

/// A response: its Date header, which is rounded down to seconds, and between which times since
/// boot the service wrote it.
struct ServerDate {
  UnixMillis date;
  nanoseconds sent;
  nanoseconds received;
};

/// A value without I/O; not thread-safe.
class ServerTime {
 public:
  /// `wall` is the wall time when the response was received. The first response gives T, if the
  /// wall clock agrees within 2 s; else the first two that agree with each other. Afterwards T
  /// changes only if three responses in a row, over at least 10 s, exclude it by more than 2 s, all
  /// on the same side: behind, it steps forward; ahead by up to a minute, it slows by 5 % until it
  /// is right; further ahead, it steps back.
  void Observe(const ServerDate& response, UnixMillis wall);

  /// T; nothing until it is known. Between steps back it never goes backwards.
  std::optional<UnixMillis> Now(nanoseconds boot) const;
  /// The same; nothing unless a response that came within ten seconds before `boot` agreed with T,
  /// and none since then excluded it.
  std::optional<UnixMillis> ConfirmedNow(nanoseconds boot) const;

 private:
  // Where T - B lies, by one response or several.
  struct Range {
    milliseconds low{0};
    milliseconds high{0};
  };
  // Responses that exclude T, all on the same side.
  struct Run {
    int count = 0;
    bool is_behind = false;
    nanoseconds first{0};
    Range range;
  };

  static Range RangeOf(const ServerDate& response);
  void Begin(const Range& range, milliseconds wall_offset);
  void Correct(nanoseconds boot);
  milliseconds OffsetAt(nanoseconds boot) const;

  std::optional<milliseconds> offset_;  // of T to B, where slewing began
  std::optional<Range> first_;          // of a response that the wall clock did not agree with
  nanoseconds slew_began_{0};
  milliseconds slew_to_{0};  // T slows until its offset is this; at most offset_
  Run run_;
  std::optional<nanoseconds> agreed_;  // when the latest response was received, if it agreed
};

}  // namespace weir
