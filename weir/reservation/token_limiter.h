// Fungible tokens of accounts: "so many in each window", as rate-limiter-py's limits say it.
// Mechanism: docs/design/reservations.md.
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
#include "weir/store/reservation_backend.h"
#include "weir/telemetry/counter.h"

namespace weir {

struct TokenLimiterOptions {
  /// How long the limits table is believed; 0: it is read for every request.
  milliseconds limits_ttl{60'000};
  /// At most so many accounts' limits, and as many refusals, are remembered.
  std::size_t cache_capacity = 200'000;
  /// How long the store may take where the caller names no deadline.
  milliseconds store_timeout{5'000};
};

/// The views must live until Take returns; what is needed later is copied.
struct TokenRequest {
  std::string_view resource;
  std::string_view account;
  /// Tokens in each window, where the limits table has no row. A limit of 0 or less: blocked.
  std::int64_t default_limit = 0;
  std::chrono::seconds default_window{0};
  std::int64_t count = 1;
};

/// An answer: taken, or refused.
struct TokenOutcome {
  bool taken = false;
  /// Whole tokens: left after a take, there at a refusal; may be negative. Of a refusal that is
  /// remembered, those that were there then.
  std::int64_t available = 0;
  /// Of a refusal: asking for as many sooner is in vain. For as many as were refused last it is the
  /// smallest wait, for more it is less than that. Nothing where the account is blocked.
  std::optional<milliseconds> retry_after = std::nullopt;
  /// The account's limit is 0 or less.
  bool blocked = false;

  friend bool operator==(const TokenOutcome&, const TokenOutcome&) = default;
};

struct TokenLimiterStats {
  std::uint64_t takes = 0;  ///< calls to the store, by kind
  std::uint64_t limit_reads = 0;
  std::uint64_t remembered = 0;  ///< refusals for which no store was asked
};

/// Thread-safe. Backend and Scheduler must outlive it; destroyed only when no call is under way.
class TokenLimiter {
 public:
  TokenLimiter(ReservationBackend& backend, Scheduler& scheduler, TokenLimiterOptions options = {});
  TokenLimiter(const TokenLimiter&) = delete;
  TokenLimiter& operator=(const TokenLimiter&) = delete;

  /// All of `count` tokens, or none. A refusal is an outcome, and is remembered until its
  /// `retry_after`: until then no store is asked for as many or more, since time alone brings
  /// tokens back. Another limit than that of the refusal ends this.
  ///
  /// An error is kInvalidArgument (an empty name, a count below 1 or above the limit, a default
  /// without a window), kFailedPrecondition (a row that has no window), or what the store answered:
  /// after kDeadlineExceeded and kUnavailable the tokens may have been taken.
  void Take(const TokenRequest& request, Deadline deadline, Done<TokenOutcome> done);
  /// Blocks. REQUIRES: not called on the thread that the store answers on.
  [[nodiscard]] Result<TokenOutcome> Take(const TokenRequest& request, Deadline deadline);

  /// `store_timeout` from now.
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

  void Decide(CallPtr call, const std::optional<AccountLimit>& row);
  std::optional<TokenOutcome> Remembered(const Call& call);
  void AskStore(CallPtr call);
  void Answered(CallPtr call, Instant asked, const Result<TokenAnswer>& answer);

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
