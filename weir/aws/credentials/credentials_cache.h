// The cache of credentials: which ones are valid, and when to fetch others.
//
//   no credentials --BeginFetch--> fetching --Fetched(ok)--> valid --(refresh due)--> fetching
//        ^  ^                         |                        |      (the old ones stay valid)
//        |  +------Fetched(error)-----+                        |
//        +--------------Rejected, or they expire---------------+
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "weir/aws/credentials/credentials.h"
#include "weir/base/result.h"
#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/runtime/backoff.h"
#include "weir/runtime/scheduler.h"
#include "weir/telemetry/log.h"

namespace weir {

/// The last valid credentials, and the one fetch that may be in flight. A state machine without
/// I/O: its caller passes in the time and the results of fetches.
///
/// Credentials are used until they expire, whatever the results of later fetches. The refresh
/// begins at a time drawn from the minute that ends five minutes before they expire, so that the
/// processes of a fleet that was started together do not fetch at once. Both times follow the
/// service's clock once it is known. Credentials that have expired by only one of the two clocks
/// are still used: if that clock is right AWS refuses them, and a wrong Date must not leave the
/// process without credentials. After a failure, and after a fetch of credentials that are about to
/// expire, the next fetch waits for a Backoff (1 s doubling to 30 s).
///
/// Credentials that AWS refused are not used until a fetch has ended. If that fetch returns the
/// same ones, they are used again, and another refusal has an effect only after such a wait, so
/// that a fleet whose keys were revoked does not overload the source. If the fetch fails, there are
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
  const Credentials* Good(Time at) const;
  /// Returns the error of the last fetch, with the time until the next one may begin; nothing if
  /// the last fetch succeeded.
  std::optional<Error> Failure(Time at) const;
  /// Returns the error of the last fetch while no other may begin; nothing if a caller may wait for
  /// a fetch.
  std::optional<Error> Refusal(Time at) const;
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
  void Keep(Credentials credentials, Time at);
  /// Stores the error of a fetch.
  void Fail(Error error, Time at);

  Rng rng_;
  Backoff backoff_{std::chrono::seconds(1), std::chrono::seconds(30)};
  bool fetching_ = false;
  Instant not_before_{INT64_MIN};  ///< the earliest time of the next fetch
  std::optional<Credentials> good_;
  UnixMillis refresh_at_;  ///< the time of the next refresh, if good_ expires
  bool rejected_ = false;  ///< good_ was refused, and no fetch has returned others since
  std::optional<Error> failure_;
};

/// Returns a provider that caches the credentials of `source` as CredentialsCache describes: Get
/// completes from memory while they are valid, and tasks of `scheduler` refresh them in the
/// background. Callers of Get while there are none wait for one common fetch, each at most until
/// its deadline. If that fetch fails, they get kUnauthenticated with the source's message and the
/// time after which to retry.
///
/// `source` may complete on any thread and also late: only the fetch waits for it, not the callers.
/// `scheduler` must outlive the provider. Calls that are pending when the provider is destroyed
/// complete with kCancelled. The provider must not be destroyed from a `done`.
///
/// `log`, which must outlive the provider, gets "credentials.refreshed" (info: expires_in_s, if
/// they expire), "credentials.failed" (warning: message, retry_after_ms, and usable, which is true
/// while the previous ones are still valid) and "credentials.rejected" (warning: AWS refused them).
/// Fetches are rare enough that every event is written. No event contains a key.
std::unique_ptr<CredentialsProvider> MakeCachedCredentials(
    std::unique_ptr<CredentialsProvider> source, Scheduler& scheduler, std::uint64_t seed,
    Log& log = NoLog());

}  // namespace weir
