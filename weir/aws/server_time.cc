#include "weir/aws/server_time.h"

#include <algorithm>
#include <chrono>

namespace weir {
namespace {

constexpr milliseconds kTolerance{2000};
constexpr milliseconds kMaxSlewed{60'000};
constexpr int kSlewPart = 20;  // T slows by one part in twenty
constexpr int kResponses = 3;
constexpr nanoseconds kRunTime = std::chrono::seconds(10);
constexpr milliseconds kDateUnit{1000};
constexpr nanoseconds kConfirmedFor = std::chrono::seconds(10);

milliseconds FloorMillis(nanoseconds time) { return std::chrono::floor<milliseconds>(time); }

}  // namespace

ServerTime::Range ServerTime::RangeOf(const ServerDate& response) {
  // The service wrote the Date, which is rounded down to a second, between `sent` and `received`.
  const milliseconds date(response.date.value);
  return {.low = date - FloorMillis(response.received),
          .high = date + kDateUnit - FloorMillis(response.sent)};
}

void ServerTime::Observe(const ServerDate& response, UnixMillis wall) {
  const Range range = RangeOf(response);
  agreed_.reset();
  if (!offset_) {
    BeginRange(range, milliseconds(wall.value) - FloorMillis(response.received));
    if (offset_) agreed_ = response.received;
    return;
  }
  const milliseconds now = OffsetAt(response.received);
  const bool is_behind = now < range.low - kTolerance;
  if (!is_behind && now <= range.high + kTolerance) {
    run_.count = 0;
    agreed_ = response.received;
    return;
  }
  if (run_.count == 0 || run_.is_behind != is_behind) {
    run_ = {.count = 0, .is_behind = is_behind, .first = response.received, .range = range};
  }
  // The range that all responses of the run allow.
  run_.range.low = std::max(run_.range.low, range.low);
  run_.range.high = std::min(run_.range.high, range.high);
  const bool is_long = response.received - run_.first >= kRunTime;
  if (++run_.count >= kResponses && is_long) CorrectDrift(response.received);
}

void ServerTime::BeginRange(const Range& range, milliseconds wall_offset) {
  // The wall clock agrees with the response.
  if (wall_offset >= range.low - kTolerance && wall_offset <= range.high + kTolerance) {
    offset_ = slew_to_ = std::clamp(wall_offset, range.low, range.high);
    return;
  }
  // Otherwise the response must agree with the one before it.
  const bool agree = previous_ && range.low <= previous_->high + kTolerance &&
                     previous_->low <= range.high + kTolerance;
  if (agree) {
    offset_ = slew_to_ = std::min(range.high, std::max(range.low, previous_->low));
    return;
  }
  previous_ = range;
}

void ServerTime::CorrectDrift(nanoseconds boot) {
  run_.count = 0;
  const milliseconds now = OffsetAt(boot);
  const milliseconds wanted = run_.is_behind ? run_.range.low : run_.range.high;
  // If servers have different clocks, their responses may have no common range.
  if (run_.is_behind ? wanted <= now : wanted >= now) return;
  slew_began_ = boot;
  // A small lead is removed by slowing, so that T does not go backwards.
  const bool must_step = run_.is_behind || now - wanted > kMaxSlewed;
  offset_ = must_step ? wanted : now;
  slew_to_ = wanted;
}

milliseconds ServerTime::OffsetAt(nanoseconds boot) const {
  const milliseconds slowed = FloorMillis(std::max(boot - slew_began_, nanoseconds(0)) / kSlewPart);
  return std::max(*offset_ - slowed, slew_to_);
}

std::optional<UnixMillis> ServerTime::Now(nanoseconds boot) const {
  if (!offset_) return std::nullopt;
  return UnixMillis{(FloorMillis(boot) + OffsetAt(boot)).count()};
}

std::optional<UnixMillis> ServerTime::ConfirmedNow(nanoseconds boot) const {
  if (!agreed_ || boot - *agreed_ > kConfirmedFor) return std::nullopt;
  return Now(boot);
}

}  // namespace weir
