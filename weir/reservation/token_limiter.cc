#include "weir/reservation/token_limiter.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "weir/runtime/add_saturated.h"
#include "weir/runtime/await.h"

namespace weir {
namespace {

Status CheckCount(const AccountKey& key, std::int64_t count, std::int64_t limit) {
  if (count >= 1 && count <= limit) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("{} tokens of {}: its limit is {}; expected 1 to {}", count,
                          Describe(key), limit, limit));
}

Status CheckWindow(const AccountKey& key, const AccountLimit& limit, bool is_row) {
  if (limit.window.count() > 0) return {};
  if (is_row) {
    return Fail(Code::kFailedPrecondition,
                fmt::format("the limits table gives {} a limit of {} without a window; expected "
                            "one of 1 s or more",
                            Describe(key), limit.limit));
  }
  return Fail(Code::kInvalidArgument,
              fmt::format("default_window of {}: {} s; expected 1 s or more", Describe(key),
                          limit.window.count()));
}

}  // namespace

struct TokenLimiter::Call {
  AccountKey key;
  AccountLimit limit;  ///< the default; after DecideCall, the limit that applies
  std::int64_t count;
  Deadline deadline;
  Done<TokenOutcome> done;
};

TokenLimiter::TokenLimiter(ReservationBackend& backend, Scheduler& scheduler,
                           TokenLimiterOptions options)
    : backend_(backend),
      tokens_(backend.tokens()),
      clock_(scheduler.clock()),
      store_timeout_(options.store_timeout),
      lookup_(backend.limits(), scheduler.clock(),
              {.ttl = options.limits_ttl, .capacity = options.cache_capacity}),
      refusals_(options.cache_capacity) {}

void TokenLimiter::Take(const TokenRequest& request, Deadline deadline, Done<TokenOutcome> done) {
  auto call = std::make_unique<Call>(
      AccountKey{std::string(request.resource), std::string(request.account)},
      AccountLimit{.limit = request.default_limit, .window = request.default_window}, request.count,
      deadline, std::move(done));
  Status valid = Check(call->key);
  if (valid) valid = Check(call->key, call->limit);
  if (!valid) return call->done(Fail(std::move(valid.error())));
  const AccountKey key = call->key;
  lookup_.Get(key, deadline, [this, call = std::move(call)](auto row) mutable {
    if (!row) return call->done(Fail(std::move(row.error())));
    DecideCall(std::move(call), *row);
  });
}

Result<TokenOutcome> TokenLimiter::Take(const TokenRequest& request, Deadline deadline) {
  return Await<TokenOutcome>(
      [&](Done<TokenOutcome> done) { Take(request, deadline, std::move(done)); });
}

void TokenLimiter::DecideCall(CallPtr call, const std::optional<AccountLimit>& row) {
  if (row) call->limit = *row;
  if (call->limit.blocked()) return call->done(TokenOutcome{.blocked = true});
  Status valid = CheckWindow(call->key, call->limit, row.has_value());
  if (valid) valid = CheckCount(call->key, call->count, call->limit.limit);
  if (!valid) return call->done(Fail(std::move(valid.error())));
  if (const auto refused = CachedRefusalOf(*call)) {
    remembered_.Add();
    return call->done(*refused);
  }
  CallStore(std::move(call));
}

std::optional<TokenOutcome> TokenLimiter::CachedRefusalOf(const Call& call) {
  const Instant now = clock_.Now();
  const MutexLock lock(mutex_);
  const Refusal* refusal = refusals_.Find(call.key, now);
  if (refusal == nullptr || call.count < refusal->count) return std::nullopt;
  if (refusal->limit != call.limit) {
    refusals_.Drop(call.key);
    return std::nullopt;
  }
  return TokenOutcome{.available = refusal->available,
                      .retry_after = std::chrono::ceil<milliseconds>(refusal->until - now)};
}

void TokenLimiter::CallStore(CallPtr call) {
  takes_.Add();
  const Call& asking = *call;
  const UnixMillis now = backend_.Now(clock_);
  // Read after `now`, so that a wait counted from `asked` is long enough.
  const Instant asked = clock_.Now();
  tokens_.Take(asking.key, asking.limit, asking.count, now, asking.deadline,
               [this, call = std::move(call), asked](const Result<TokenResult>& result) mutable {
                 OnTakeResult(std::move(call), asked, result);
               });
}

void TokenLimiter::OnTakeResult(CallPtr call, Instant asked, const Result<TokenResult>& result) {
  if (!result) return call->done(Fail(result.error()));
  TokenOutcome outcome{.taken = result->taken, .available = result->available};
  if (!result->taken) {
    outcome.retry_after = std::max(result->retry_after, milliseconds(1));
    const Instant until = AddSaturated(asked, *outcome.retry_after);
    const MutexLock lock(mutex_);
    refusals_.Put(call->key, {call->limit, call->count, result->available, until}, until);
  }
  call->done(outcome);
}

Deadline TokenLimiter::Timeout() const {
  return Deadline::At(AddSaturated(clock_.Now(), store_timeout_));
}

TokenLimiterStats TokenLimiter::stats() const {
  return {.takes = takes_.Value(),
          .limit_reads = lookup_.store_reads(),
          .remembered = remembered_.Value()};
}

}  // namespace weir
