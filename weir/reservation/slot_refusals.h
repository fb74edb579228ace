// Which keys are known to be full, and until when that is believed.
// Mechanism: docs/design/reservations.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "weir/base/time.h"
#include "weir/reservation/account_cache.h"
#include "weir/store/reservation_store.h"

namespace weir {

/// What the store said when it refused.
struct SlotsFull {
  std::int64_t limit = 0;  ///< that was asked with
  std::int64_t in_use = 0;
  std::optional<Instant> next_expiry{};  ///< of the slots that are held; nothing: unknown
};

/// A value; not thread-safe.
class SlotRefusals {
 public:
  /// A refusal that names no expiry is believed no longer, whatever `full_for` says: nothing else
  /// would end it.
  static constexpr milliseconds kFullForUnknown{5'000};

  /// `full_for`: how long a refusal is believed at most. `capacity`: of so many keys.
  SlotRefusals(milliseconds full_for, std::size_t capacity)
      : full_for_(full_for), believed_(capacity) {}

  struct Belief {
    SlotsFull full;
    Instant until;  ///< the next expiry, or as long as a refusal is believed
  };
  /// Only one that was given to the same limit is believed; another is forgotten.
  std::optional<Belief> Find(const AccountKey& key, std::int64_t limit, Instant now);

  /// Changes when a slot of the key comes back. Take it before asking.
  std::uint64_t Stamp(const AccountKey& key) const { return stamps_[PlaceOf(key)]; }
  /// False, and forgets it, where a slot came back since the stamp was taken.
  bool Remember(const AccountKey& key, const SlotsFull& full, std::uint64_t stamp, Instant now);
  /// A slot of the key came back.
  void Released(const AccountKey& key);
  void Forget(const AccountKey& key) { believed_.Forget(key); }

 private:
  std::size_t PlaceOf(const AccountKey& key) const { return HashOf(key) % stamps_.size(); }
  Instant BelievedUntil(const SlotsFull& full, Instant now) const;

  milliseconds full_for_;
  AccountCache<Belief> believed_;
  std::array<std::uint64_t, 256> stamps_{};  ///< counts what came back, by hash of the key
};

}  // namespace weir
