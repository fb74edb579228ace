#include "weir/dynamo/bucket_ahead.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/base/integer_text.h"
#include "weir/store/extra_meters.h"

namespace weir::dynamo {

std::string FormatAhead(const AheadMark& mark) {
  return fmt::format("{};{}", mark.time.value, mark.first_seen.value);
}

std::optional<AheadMark> ReadAhead(std::string_view text) {
  const std::size_t middle = text.find(';');
  if (middle == std::string_view::npos) return std::nullopt;
  const auto time = ReadInteger<std::int64_t>(text.substr(0, middle));
  const auto first_seen = ReadInteger<std::int64_t>(text.substr(middle + 1));
  if (!time || !first_seen || *first_seen < 0) return std::nullopt;
  return AheadMark{{*time}, {*first_seen}};
}

AheadState AheadAt(const BucketImage& image, UnixMillis now) {
  AheadState state;
  if (!IsFarAhead(image.bucket.time, now)) return state;
  state.is_far = true;
  const auto* text = image.ahead ? std::get_if<std::string>(&image.ahead->held) : nullptr;
  const std::optional<AheadMark> mark = text == nullptr ? std::nullopt : ReadAhead(*text);
  state.is_marked = mark && mark->time == image.bucket.time && mark->first_seen <= now;
  state.due = (state.is_marked ? mark->first_seen : now) + kUnmovedFor;
  return state;
}

std::optional<BucketImage> SetBackIfDue(const BucketImage& image, UnixMillis now) {
  const AheadState state = AheadAt(image, now);
  if (!state.is_far || state.due > now) return std::nullopt;
  BucketImage back = image;
  back.set_back_from = {image.bucket.time, image.gone};
  back.bucket.time = state.due;
  if (back.gone && IsFarAhead(back.gone->last_left, now)) {
    const milliseconds until_full =
        LeftFullIn({.last_left = back.gone->last_left, .left_full = back.gone->left_full});
    back.gone = EarlyLeavers{state.due, state.due + until_full};
  }
  return back;
}

milliseconds BehindAt(const BucketImage& image, UnixMillis now) {
  const AheadState state = AheadAt(image, now);
  if (state.is_far) return std::max(state.due - now, milliseconds(0));
  return std::max(image.bucket.time - now, milliseconds(0));
}

}  // namespace weir::dynamo
