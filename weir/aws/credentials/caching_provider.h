// A provider that caches credentials and refreshes them ahead of their expiry.
#pragma once

#include <cstdint>
#include <memory>

#include "weir/aws/credentials/credentials.h"
#include "weir/runtime/scheduler.h"
#include "weir/telemetry/log.h"

namespace weir {

/// Returns a provider that caches the credentials of `source` as CredentialsCache
/// (credentials_cache.h) describes: Get completes from memory while they are valid, and tasks of
/// `scheduler` refresh them in the background. While there are no valid credentials, callers of Get
/// wait for one common fetch, each at most until its deadline. If that fetch fails, they get
/// kUnauthenticated with the source's message and the time after which to retry.
///
/// `source` may complete on any thread, also after its deadline: callers wait only until their own
/// deadlines. `scheduler` must outlive the provider. Calls that are pending when the provider is
/// destroyed complete with the result of the fetch in flight if the destructor of `source`
/// completes it, else with kCancelled. The provider must not be destroyed from a `done`.
///
/// `log`, which must outlive the provider, gets "credentials.refreshed" (info: expires_in_s, if
/// they expire), "credentials.failed" (warning: message, retry_after_ms, and usable, which is true
/// while the old credentials are valid) and "credentials.rejected" (warning: AWS refused them).
/// Fetches are rare enough that every event is written. No event contains a key.
std::unique_ptr<CredentialsProvider> MakeCachedCredentials(
    std::unique_ptr<CredentialsProvider> source, Scheduler& scheduler, std::uint64_t seed,
    Log& log = NoLog());

}  // namespace weir
