// A bucket whose time `rf` is far ahead of T (IsFarAhead), because a wrong clock wrote it: it is
// set back once it has not moved for kUnmovedFor. Mechanism: docs/design/time.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weir/dynamo/bucket_image.h"
#include "weir/store/bucket_time.h"

namespace weir::dynamo {

/// A writer that moves a stored time more often than that is alive, and the time is not set back.
inline constexpr milliseconds kUnmovedFor{60'000};

/// Attribute w_ahead: a time of the item, and when it was first seen far ahead, by T.
struct AheadMark {
  UnixMillis time;
  UnixMillis first_seen;

  friend bool operator==(const AheadMark&, const AheadMark&) = default;
};
std::string FormatAhead(const AheadMark& mark);
/// Nothing if the text is no mark: a new one replaces it.
std::optional<AheadMark> ReadAhead(std::string_view text);

/// How a bucket's time relates to T. A value.
struct AheadState {
  bool is_far = false;     ///< far ahead
  bool is_marked = false;  ///< and the item says since when
  UnixMillis due;          ///< while it is far ahead: when it may be set back
};
/// A mark of another time, or of later than `now`, counts as none.
AheadState AheadAt(const BucketImage& image, UnixMillis now);

/// The image with its time as of when it was due to be set back, and that of limits that left early
/// likewise; nothing if none is due at `now`. Its tokens are as stored.
std::optional<BucketImage> SetBackIfDue(const BucketImage& image, UnixMillis now);

/// How long until the bucket is refilled again: until T reaches its time, or sets it back.
milliseconds BehindAt(const BucketImage& image, UnixMillis now);

}  // namespace weir::dynamo
