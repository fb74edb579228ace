// The cache of credentials: which ones are valid, and when to fetch others.
//
//   no credentials --BeginFetch--> fetching --Fetched(ok)--> valid --(refresh due)--> fetching
//        ^  ^                         |                        |      (the old ones stay valid)
//        |  +------Fetched(error)-----+                        |
//        +--------------Rejected, or they expire---------------+
//
// If a refresh fails, the old credentials stay valid until they expire.
#pragma once

#include <cstdint>
#include <optional>

#include "weir/aws/credentials/credentials.h"
#include "weir/base/result.h"
#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/runtime/backoff.h"

namespace weir {

/// The last valid credentials, and the one fetch that may be in flight. A state machine without
/// I/O: its caller passes in the time and the results of fetches.
///
/// Credentials are used until they expire, whatever the results of later fetches. The refresh
/// begins at a time drawn from the minute that ends five minutes before they expire, so that the
/// processes of a fleet that was started together do not fetch at once. That time follows the
/// service's clock once it is known. Credentials that have expired by only one of the two clocks,
/// the service's and the wall clock, are still used: if that clock is right AWS refuses them, and a
/// wrong Date must not leave the process without credentials. After a failure, and after a fetch of
/// credentials that are about to expire, the next fetch waits for a Backoff (1 s doubling to 30 s).
///
/// Credentials that AWS refused are not used until a fetch has ended. If that fetch returns the
/// same ones, they are used again, and another rejection has an effect only after such a Backoff,
/// so that a fleet whose keys were revoked does not overload the source. For the same reason a
/// rejection during the Backoff after a failed refresh has no effect. If the fetch fails, there are
/// no credentials.
class CredentialsCache {
 public:
  struct Time {
    Instant now;
    UnixMillis wall;
    std::optional<UnixMillis> service{};  ///< the service's clock, if known
  };

  explicit CredentialsCache(std::uint64_t seed) : rng_(seed) {}

  /// Returns the credentials that are valid now; null if there are none.
  const Credentials* Valid(Time at) const;
  /// Returns the error of the last fetch, with the time until the next one may begin; nothing if
  /// the last fetch succeeded.
  std::optional<Error> Failure(Time at) const;
  /// Returns the error of the last fetch while no other fetch may begin; nothing if a caller may
  /// wait for a fetch.
  std::optional<Error> FetchError(Time at) const;
  /// Returns true if a fetch is due. The caller must then start it and pass its result to Fetched.
  bool BeginFetch(Time at);
  void Fetched(Result<Credentials> result, Time at);
  /// AWS refused these credentials. Has no effect unless they are the cached ones. Returns whether
  /// the cached ones are no longer used.
  bool Rejected(const Credentials& refused, Time at);
  /// Returns the time at which to call BeginFetch without a request; nothing if that is not needed.
  /// It is at most a minute ahead, because the wall clock may jump.
  std::optional<Instant> WakeAt(Time at) const;

 private:
  static bool HasExpired(const Credentials& credentials, Time at);
  bool IsRefreshDue(Time at) const;
  /// Stores fetched credentials and the time of their refresh.
  void StoreFetched(Credentials credentials, Time at);
  /// Stores the error of a fetch.
  void StoreError(Error error, Time at);

  Rng rng_;
  Backoff backoff_{std::chrono::seconds(1), std::chrono::seconds(30)};
  bool fetching_ = false;
  Instant not_before_{INT64_MIN};  ///< the earliest time of the next fetch
  std::optional<Credentials> credentials_;
  UnixMillis refresh_at_;  ///< the time of the next refresh, if credentials_ expires
  bool rejected_ = false;  ///< credentials_ was refused, and no fetch has returned others since
  std::optional<Error> failure_;
};

}  // namespace weir
