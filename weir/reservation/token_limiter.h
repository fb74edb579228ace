// Limits accounts to N tokens in each window, as rate-limiter-py's fungible limits do. Mechanism:
// docs/design/reservations.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "weir/base/done.h"
#include "weir/base/mutex.h"
#include "weir/reservation/account_cache.h"
#include "weir/reservation/limit_lookup.h"
#include "weir/runtime/deadline.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/reservation/reservation_backend.h"
#include "weir/telemetry/counter.h"

namespace weir {

struct TokenLimiterOptions {
  /// Time for which rows of the limits table, and the absence of a row, are cached; 0: the table is
  /// read for every request.
  milliseconds limits_ttl{60'000};
  /// Maximum number of accounts whose limit is cached, and of accounts whose refusal is cached.
  std::size_t cache_capacity = 200'000;
  /// The time from now to the deadline that Timeout returns.
  milliseconds store_timeout{5'000};
};

/// A request for tokens. The viewed strings must stay valid until Take returns; the limiter copies
/// the parts that it needs later.
struct TokenRequest {
  std::string_view resource;
  std::string_view account;
  /// The limit if the limits table has no row: tokens in each window. 0 or less: blocked.
  std::int64_t default_limit = 0;
  std::chrono::seconds default_window{0};
  std::int64_t count = 1;
};

/// The result of a request: taken, or refused.
struct TokenOutcome {
  bool taken = false;
  /// The whole tokens left after a take, or available at a refusal; may be negative. For a cached
  /// refusal, the tokens that were available when the store refused.
  std::int64_t available = 0;
  /// Set if refused: a request for as many tokens before this wait is over is refused as well. This
  /// is the smallest sufficient wait, except for a cached refusal of fewer tokens, whose wait is
  /// shorter. Not set if the account is blocked.
  std::optional<milliseconds> retry_after = std::nullopt;
  /// The account's limit is 0 or less.
  bool blocked = false;

  friend bool operator==(const TokenOutcome&, const TokenOutcome&) = default;
};

struct TokenLimiterStats {
  std::uint64_t takes = 0;        ///< calls to the store that take tokens
  std::uint64_t limit_reads = 0;  ///< calls to the store that read the limits table
  std::uint64_t remembered = 0;   ///< requests that were refused by a cached refusal
};

/// Thread-safe. The Backend and the Scheduler must outlive it. It may be destroyed only when no
/// call is in flight.
class TokenLimiter {
 public:
  TokenLimiter(ReservationBackend& backend, Scheduler& scheduler, TokenLimiterOptions options = {});
  TokenLimiter(const TokenLimiter&) = delete;
  TokenLimiter& operator=(const TokenLimiter&) = delete;

  /// Takes all of `count` tokens, or none, and passes the outcome to `done`. A refusal is an
  /// outcome, and is cached until its `retry_after`: until then requests for as many tokens or more
  /// are refused without a call to the store, because only time refills tokens. A request under
  /// another limit invalidates the cached refusal.
  ///
  /// Errors: kInvalidArgument for an invalid name, a count below 1 or above the limit, or a default
  /// without a window; kFailedPrecondition for a row without a window; or an error of the store.
  /// After kDeadlineExceeded and kUnavailable the tokens may have been taken.
  void Take(const TokenRequest& request, Deadline deadline, Done<TokenOutcome> done);
  /// Like the overload above, but blocks. REQUIRES: not called on the thread on which the store
  /// completes.
  [[nodiscard]] Result<TokenOutcome> Take(const TokenRequest& request, Deadline deadline);

  /// Returns the deadline `store_timeout` from now, for callers without one of their own.
  Deadline Timeout() const;
  TokenLimiterStats stats() const;

 private:
  struct Call;
  using CallPtr = std::unique_ptr<Call>;
  struct Refusal {
    AccountLimit limit;
    std::int64_t count;
    std::int64_t available;
    Instant until;
  };

  /// Chooses the limit, then refuses from the cache or asks the store.
  void DecideCall(CallPtr call, const std::optional<AccountLimit>& row);
  /// Returns the cached refusal if it applies to the call.
  std::optional<TokenOutcome> CachedRefusalOf(const Call& call);
  void CallStore(CallPtr call);
  /// Takes the store's result; caches a refusal.
  void OnTakeResult(CallPtr call, Instant asked, const Result<TokenResult>& result);

  const ReservationBackend& backend_;
  TokenStore& tokens_;
  const Clock& clock_;
  const milliseconds store_timeout_;
  LimitLookup lookup_;
  Mutex mutex_;
  AccountCache<Refusal> refusals_ WEIR_GUARDED_BY(mutex_);
  Counter takes_;
  Counter remembered_;
};

}  // namespace weir
