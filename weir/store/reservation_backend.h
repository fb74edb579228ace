// A place where slots, accounts' limits and accounts' tokens are kept: memory, a file, three
// tables.
#pragma once

#include <optional>
#include <string>

#include "weir/store/account_limits.h"
#include "weir/store/reservation_store.h"
#include "weir/store/token_store.h"

namespace weir {

/// Owns one of each. Thread-safe. What was answered is durable already. It must outlive every call
/// that is in flight on its stores, unless it comes from MakeClosing (closing_reservations.h), as
/// those of OpenBackend and OpenReservations do: that one waits for them.
class ReservationBackend {
 public:
  virtual ~ReservationBackend() = default;
  virtual ReservationStore& slots() = 0;
  virtual AccountLimitStore& limits() = 0;
  virtual TokenStore& tokens() = 0;
  /// The time that is passed as `now`: the bucket time of the place (docs/design/time.md), or the
  /// wall time of `clock` if the place is shared with clients that go by theirs.
  UnixMillis Now(const Clock& clock) const { return OwnTime().value_or(clock.WallNow()); }
  /// Bucket time; nothing if the place has none. A backend that wraps another one asks that one.
  virtual std::optional<UnixMillis> OwnTime() const = 0;
  /// True: clients of rate-limiter-py may use the place too. They bind what has ended already, and
  /// the index that finds slots by their resource is a moment behind.
  bool HasOtherClients() const { return !OwnTime(); }
  /// Later calls are kUnavailable, save releases while a call is in flight, and all calls have
  /// their answers when it returns. Nothing, if calls are answered before they return.
  virtual void Close() {}
  /// As people name it, for example "sqlite:/var/lib/weir.db".
  virtual std::string Describe() const = 0;
};

}  // namespace weir
