// The times after which a connection is closed, pings its peer, or drains. No I/O.
#pragma once

#include <optional>

#include "weir/base/time.h"
#include "weir/http2/bounds.h"

namespace weir::http2 {

/// What a connection must do because of the time.
enum class TimeAction {
  kNone,
  kClose,        ///< the handshake or a ping took too long
  kDrain,        ///< the connection is too old or idle; not closed, as a request may be on its way
  kPing,         ///< the peer has been silent
  kEndOfNotice,  ///< the time of the shutdown notice is over
  kEndOfGrace,   ///< the time of the last streams of a drain is over
};

/// The time that a peer has to take the last output.
inline constexpr nanoseconds kLastOutput{1'000'000'000};

/// Tracks the times of one connection by its events. Not thread-safe.
class ConnectionTimes {
 public:
  ConnectionTimes(const ConnectionBounds& bounds, Instant now);

  void OnReceived(Instant now);
  void OnHandshake() { in_handshake_ = false; }
  /// The number of open streams changed.
  void OnStreams(std::size_t open, Instant now);
  void OnPinged(Instant now) { ping_response_by_ = now + bounds_.ping_timeout; }
  void OnPingResponse() { ping_response_by_.reset(); }
  void OnDrainNotice(Instant now) { notice_ends_ = now + bounds_.drain_notice; }
  /// The final GOAWAY was submitted: no more streams begin.
  void OnLastStream(Instant now) { grace_ends_ = now + bounds_.drain_grace; }
  /// The end of the connection was submitted: from now on only one action is due, kClose when
  /// kLastOutput has passed.
  void OnEnding(Instant now) { ends_by_ = now + kLastOutput; }

  /// Returns the next action that is due. kPing and kClose remain due until OnPinged and OnEnding.
  TimeAction TakeDue(Instant now);
  /// Returns the earliest time at which an action may be due.
  Instant wake() const;

 private:
  std::optional<Instant> CloseAt() const;
  std::optional<Instant> DrainAt() const;
  std::optional<Instant> PingAt() const;

  const ConnectionBounds bounds_;
  const Instant began_;
  Instant last_received_;
  Instant idle_since_;
  bool in_handshake_ = true;
  std::size_t open_streams_ = 0;
  bool drain_begun_ = false;
  std::optional<Instant> ping_response_by_;
  std::optional<Instant> notice_ends_;
  std::optional<Instant> grace_ends_;
  std::optional<Instant> ends_by_;
};

}  // namespace weir::http2
