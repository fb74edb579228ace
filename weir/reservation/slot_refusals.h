// The cached refusals: the keys that are known to be full. Mechanism: docs/design/reservations.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "weir/base/time.h"
#include "weir/reservation/account_cache.h"
#include "weir/store/reservation/reservation_store.h"

namespace weir {

/// A refusal of the store.
struct ClaimRefusal {
  std::int64_t limit = 0;  ///< the limit of the refused claim
  std::int64_t in_use = 0;
  std::optional<Instant> next_expiry{};  ///< the next expiry of the held slots; nullopt: unknown
};

/// A cache of refusals, without I/O. Not thread-safe.
class SlotRefusals {
 public:
  /// Maximum time for which a refusal without a known expiry is cached, also if `full_for` is
  /// longer: nothing else would end it.
  static constexpr milliseconds kFullForUnknown{5'000};

  /// `full_for` is the maximum time for which a refusal is cached. `capacity` is a number of keys.
  SlotRefusals(milliseconds full_for, std::size_t capacity)
      : full_for_(full_for), cache_(capacity) {}

  struct CachedRefusal {
    ClaimRefusal full;
    Instant until;  ///< the next expiry, or the end of `full_for` if that is earlier
  };
  /// Returns the cached refusal if it was for the same limit. A refusal for another limit is
  /// removed.
  std::optional<CachedRefusal> Find(const AccountKey& key, std::int64_t limit, Instant now);

  /// Returns a number that changes when a slot of the key is released. Read it before a claim.
  std::uint64_t StampOf(const AccountKey& key) const { return stamps_[StampIndexOf(key)]; }
  /// Caches a refusal. Returns false, and caches nothing, if a slot was released since the stamp
  /// was read.
  bool CacheRefusal(const AccountKey& key, const ClaimRefusal& full, std::uint64_t stamp,
                    Instant now);
  /// Reports that a slot of the key was released; removes the cached refusal of the key.
  void OnReleased(const AccountKey& key);
  void Drop(const AccountKey& key) { cache_.Drop(key); }

 private:
  std::size_t StampIndexOf(const AccountKey& key) const {
    return AccountKeyHash()(key) % stamps_.size();
  }
  Instant CachedUntil(const ClaimRefusal& full, Instant now) const;

  milliseconds full_for_;
  AccountCache<CachedRefusal> cache_;
  std::array<std::uint64_t, 256> stamps_{};  ///< number of releases, by hash of the key
};

}  // namespace weir
