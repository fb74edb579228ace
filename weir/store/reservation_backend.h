// A place where slots, accounts' limits and accounts' tokens are kept: memory, a file, three
// tables.
#pragma once

#include <optional>
#include <string>

#include "weir/store/account_limits.h"
#include "weir/store/reservation_store.h"
#include "weir/store/token_store.h"

namespace weir {

/// Owns one of each. Thread-safe. Outlives every call that is under way on its stores. What was
/// answered is durable already.
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
  /// As people name it, for example "sqlite:/var/lib/weir.db".
  virtual std::string Describe() const = 0;
};

}  // namespace weir
