// A backend stores slots, accounts' limits and accounts' tokens: in memory, in a file or in three
// tables.
#pragma once

#include <optional>
#include <string>

#include "weir/base/api.h"
#include "weir/store/reservation/account_limits.h"
#include "weir/store/reservation/reservation_store.h"
#include "weir/store/reservation/token_store.h"

namespace weir {

/// Owns one of each store. Thread-safe. A change is durable when its call completes. The backend
/// must outlive every pending call on its stores, unless it comes from MakeClosing
/// (closing_reservations.h): such a backend waits for the calls. OpenBackend and OpenReservations
/// return such backends.
class WEIR_API ReservationBackend {
 public:
  virtual ~ReservationBackend() = default;
  virtual ReservationStore& slots() = 0;
  virtual AccountLimitStore& limits() = 0;
  virtual TokenStore& tokens() = 0;
  /// Returns the time to pass as `now`: the backend's bucket time (docs/design/time.md), or the
  /// wall time of `clock` if the backend is shared with clients that use their wall clocks.
  UnixMillis Now(const Clock& clock) const { return OwnTime().value_or(clock.WallNow()); }
  /// Returns the bucket time; nothing if the backend has none. A wrapper returns the bucket time of
  /// its inner backend.
  virtual std::optional<UnixMillis> OwnTime() const = 0;
  /// Returns true if clients of rate-limiter-py may use the same tables. They may bind slots to
  /// resources that have already ended, and the index that finds slots by resource is slightly out
  /// of date.
  bool HasOtherClients() const { return !OwnTime(); }
  /// Makes later calls fail with kUnavailable, except releases while a call is in flight. When it
  /// returns, all calls have completed. Does nothing if calls complete before they return.
  virtual void Close() {}
  /// Returns the name of the backend for messages, for example "sqlite:/var/lib/weir.db".
  virtual std::string Describe() const = 0;
};

}  // namespace weir
