#include "weir/http2/connection_times.h"

#include <algorithm>

namespace weir::http2 {
namespace {

constexpr Instant kNoWake{INT64_MAX};

void SetMin(std::optional<Instant>& at, Instant other) { at = at ? std::min(*at, other) : other; }

}  // namespace

ConnectionTimes::ConnectionTimes(const ConnectionBounds& bounds, Instant now)
    : bounds_(bounds), began_(now), last_received_(now), idle_since_(now) {}

void ConnectionTimes::OnReceived(Instant now) { last_received_ = now; }

void ConnectionTimes::OnStreams(std::size_t open, Instant now) {
  if (open == 0 && open_streams_ > 0) idle_since_ = now;
  open_streams_ = open;
}

std::optional<Instant> ConnectionTimes::CloseAt() const {
  std::optional<Instant> at;
  if (in_handshake_) SetMin(at, began_ + bounds_.handshake);
  if (ping_response_by_) SetMin(at, *ping_response_by_);
  return at;
}

std::optional<Instant> ConnectionTimes::DrainAt() const {
  std::optional<Instant> at;
  if (drain_begun_) return at;
  if (open_streams_ == 0) SetMin(at, idle_since_ + bounds_.idle);
  if (bounds_.age > nanoseconds(0)) SetMin(at, began_ + bounds_.age);
  return at;
}

std::optional<Instant> ConnectionTimes::PingAt() const {
  if (open_streams_ == 0 || ping_response_by_) return std::nullopt;
  return last_received_ + bounds_.ping_after;
}

TimeAction ConnectionTimes::TakeDue(Instant now) {
  if (ends_by_) {
    if (*ends_by_ > now) return TimeAction::kNone;
    ends_by_ = kNoWake;
    return TimeAction::kClose;
  }
  if (const auto at = CloseAt(); at && *at <= now) return TimeAction::kClose;
  if (notice_ends_ && *notice_ends_ <= now) {
    notice_ends_.reset();
    return TimeAction::kEndOfNotice;
  }
  if (grace_ends_ && *grace_ends_ <= now) {
    grace_ends_.reset();
    return TimeAction::kEndOfGrace;
  }
  if (const auto at = DrainAt(); at && *at <= now) {
    drain_begun_ = true;
    return TimeAction::kDrain;
  }
  if (const auto at = PingAt(); at && *at <= now) return TimeAction::kPing;
  return TimeAction::kNone;
}

Instant ConnectionTimes::wake() const {
  if (ends_by_) return *ends_by_;
  std::optional<Instant> at = CloseAt();
  if (notice_ends_) SetMin(at, *notice_ends_);
  if (grace_ends_) SetMin(at, *grace_ends_);
  if (const auto drain = DrainAt()) SetMin(at, *drain);
  if (const auto ping = PingAt()) SetMin(at, *ping);
  return at.value_or(kNoWake);
}

}  // namespace weir::http2
