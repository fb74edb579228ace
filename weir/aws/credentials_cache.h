// Which credentials to use, and when to fetch others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "weir/aws/credentials.h"
#include "weir/base/result.h"
#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/runtime/backoff.h"
#include "weir/runtime/scheduler.h"
#include "weir/telemetry/log.h"

namespace weir {

/// The last good credentials, and the one fetch that may be under way. A value: it is told the time
/// and what came of a fetch, and says whether to fetch.
///
/// Credentials serve until they really expire, whatever becomes of fetching others. That begins at
/// an instant drawn from the minute that ends five minutes before they expire, so that a fleet that
/// was started together does not ask together. Both follow the service's clock once that is known.
/// Credentials that have expired by one clock alone still serve: if that clock is right AWS refuses
/// them, and a wrong Date must not leave the process without credentials. After a failure, and
/// after credentials that are themselves about to expire, the next fetch waits as Backoff says (1 s
/// doubling to 30 s).
///
/// Credentials that AWS refused serve no more until a fetch has ended. Where that finds the same
/// ones they serve again, and another refusal has an effect only after such a wait, so that a fleet
/// whose keys were taken back does not hammer the source. Where that fails there are none.
class CredentialsCache {
 public:
  struct Time {
    Instant now;
    UnixMillis wall;
    std::optional<UnixMillis> service{};  ///< its clock, if known
  };

  explicit CredentialsCache(std::uint64_t seed) : rng_(seed) {}

  /// Null if there are none that are valid now.
  const Credentials* Good(Time at) const;
  /// Of the last fetch, with the time until another may begin; nothing if that one succeeded.
  std::optional<Error> Failure(Time at) const;
  /// The failure, while it forbids to fetch again; nothing if a fetch may be waited for.
  std::optional<Error> Refusal(Time at) const;
  /// True: begin a fetch now and tell Fetched of it.
  bool BeginFetch(Time at);
  void Fetched(Result<Credentials> result, Time at);
  /// AWS refused these. Nothing happens if they are not the ones that serve.
  /// Returns whether they serve no more.
  bool Rejected(const Credentials& refused, Time at);
  /// When to call BeginFetch without anybody having asked; nothing: there is no need. Not farther
  /// than a minute, as the wall clock may jump.
  std::optional<Instant> WakeAt(Time at) const;

 private:
  static bool HasExpired(const Credentials& credentials, Time at);
  bool IsRefreshDue(Time at) const;
  void Keep(Credentials credentials, Time at);
  void Fail(Error error, Time at);

  Rng rng_;
  Backoff backoff_{std::chrono::seconds(1), std::chrono::seconds(30)};
  bool fetching_ = false;
  Instant not_before_{INT64_MIN};  ///< of the next fetch
  std::optional<Credentials> good_;
  UnixMillis refresh_at_;  ///< where good_ expires
  bool rejected_ = false;  ///< good_ was refused, and no fetch has brought others since
  std::optional<Error> failure_;
};

/// Hands out the credentials of another provider, kept as CredentialsCache says: from memory while
/// they are valid, refreshed in the background by tasks of `scheduler`. Those that ask while there
/// are none wait for one fetch together, each at most until its deadline. Answers kUnauthenticated
/// with the source's message, and when to ask again, if that fetch fails.
///
/// `source` may answer from any thread, also late: only the fetch waits for it, not the callers.
/// `scheduler` must outlive this. Who still waits when this is destroyed is answered kCancelled.
/// Not to be destroyed from a `done`.
///
/// `log`, which must outlive it, gets "credentials.refreshed" (info: expires_in_s, if they expire),
/// "credentials.failed" (warning: message, retry_after_ms, and usable, which is true while the ones
/// before still serve) and "credentials.rejected" (warning: AWS refused them). The fetches are so
/// far apart that none of them needs to be left out. No event holds a key.
std::unique_ptr<CredentialsProvider> MakeCachedCredentials(
    std::unique_ptr<CredentialsProvider> source, Scheduler& scheduler, std::uint64_t seed,
    Log& log = NoLog());

}  // namespace weir
