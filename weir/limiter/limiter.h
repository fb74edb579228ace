// Decides whether an entity may use a resource now. Mechanism: docs/design/limiter.md.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/done.h"
#include "weir/limiter/lease.h"
#include "weir/limiter/limiter_stats.h"
#include "weir/limiter/resolution/resolver.h"
#include "weir/model/tokens.h"
#include "weir/runtime/deadline.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/backend.h"
#include "weir/telemetry/histogram.h"
#include "weir/telemetry/log.h"

namespace weir {

struct WEIR_API LimiterOptions {
  /// Time for which resolved limits and entities are cached; 0 disables the cache. Changes made
  /// through this Limiter apply at once, independent of this time; changes by other processes apply
  /// within it.
  milliseconds cache_ttl{60'000};
  /// Maximum number of resolved (entity, resource) pairs in the cache. Pairs that were not used
  /// recently are evicted first.
  std::size_t cache_capacity = 200'000;
  /// The policy for an unavailable store, used if neither the request nor the system level sets
  /// one.
  OnUnavailable on_unavailable = OnUnavailable::kBlock;
  /// Maximum number of requests that wait for tokens. One more fails with kResourceExhausted.
  std::size_t max_waiting = 100'000;
  /// Maximum number of (entity, resource) pairs with an allowance. Requests on other pairs call the
  /// store.
  std::size_t max_allowances = 10'000;
  /// Time within which the store must respond to an adjust of a lease.
  milliseconds lease_timeout{5'000};
  /// Receives "limiter.admitted_without_charge" (see uncharged_log.h) and "limiter.limits_outdated"
  /// (see outdated_log.h). Must not be null; must outlive the Limiter.
  Log* log = &NoLog();
  /// Seed of the random ids by which each adjust counts once. Set it in tests only; by default the
  /// system provides it.
  std::optional<std::uint64_t> seed = std::nullopt;
};

/// A request for tokens. The viewed strings must stay valid until Acquire returns; the Limiter
/// copies the parts that it needs later.
struct AcquireRequest {
  std::string_view entity;
  std::string_view resource;
  /// The tokens to take, by name of the limit. An amount of 0 reads the limit without taking
  /// tokens.
  Amounts amounts;
  /// If set, the request waits for tokens until this deadline instead of being refused. Waiting
  /// requests are served first come, first served on each bucket. A request is refused at once if
  /// its wait is known to end after the deadline. A deadline that has passed counts as not set. A
  /// request without a deadline is refused while other requests wait for one of its buckets, even
  /// if the bucket has tokens.
  std::optional<Deadline> wait_until = std::nullopt;
  /// Replaces the configured limits for this request. Only the entity's own bucket is then charged.
  std::optional<std::vector<Limit>> limits = std::nullopt;
  /// The policy for an unavailable store; overrides the system level and the options.
  std::optional<OnUnavailable> on_unavailable = std::nullopt;
};

/// The result of a request: the decision and, if the request is admitted, the lease.
///
/// The capacity that a decision shows for a limit with an allowance (Limit::allowance) excludes the
/// part that is set aside for the allowance. If the decision was made from an allowance, without
/// the store, the available tokens are those that the last result of the store left in the bucket
/// plus those that this Limiter holds. A decision has no statuses if it is unprotected or
/// contended, or if the request was refused behind waiting requests and its buckets could not be
/// read.
class WEIR_API Outcome {
 public:
  Outcome(Decision decision, Lease lease)
      : decision_(std::move(decision)), lease_(std::move(lease)) {}

  bool admitted() const { return decision_.admitted; }
  const Decision& decision() const { return decision_; }
  /// Returns true if the request was admitted by policy because the store was unavailable. Nothing
  /// was charged, and the lease is inactive.
  bool unprotected() const { return admitted() && !lease_.active(); }
  /// Returns the lease, which the caller then owns. REQUIRES: admitted().
  Lease lease() && { return std::move(lease_); }

 private:
  Decision decision_;
  Lease lease_;
};

/// Admits or refuses requests under the limits of a backend. Thread-safe.
///
/// The Backend and the Scheduler must outlive the Limiter, and the Limiter must outlive its leases.
/// It may be destroyed only when no call is in flight, except for requests with `wait_until`: these
/// complete with kCancelled. A waiting request whose try is in flight completes when the store
/// responds, and tokens that the try took are given back.
class WEIR_API Limiter {
 public:
  Limiter(Backend& backend, Scheduler& scheduler, LimiterOptions options = {});
  ~Limiter();
  Limiter(const Limiter&) = delete;
  Limiter& operator=(const Limiter&) = delete;

  /// Requests tokens and passes the outcome to `done`. A refusal is an Outcome, not an error.
  ///
  /// `deadline` applies to the results of the store. Each later try of a waiting request gets as
  /// much time as the first try had. `done` runs before Acquire returns, on the thread on which the
  /// store completes, or on the scheduler's thread.
  ///
  /// Errors:
  ///   kInvalidArgument     the request can never succeed: an unknown limit name, no or negative
  ///                        amounts, an amount over a capacity, or no limits at any level
  ///   kFailedPrecondition  the entity's chain of parents is a cycle or longer than kMaxCascade
  ///   kResourceExhausted   max_waiting requests wait already
  ///   kCancelled           the Limiter was destroyed while the request waited
  ///   an error of the store, which the policy may turn into an unprotected admission if the store
  ///   was unavailable
  void Acquire(const AcquireRequest& request, Deadline deadline, Done<Outcome> done);
  /// Requests tokens and blocks until the outcome is available. REQUIRES: not called on the
  /// scheduler's thread or within a `done`. Callbacks on a thread run one after the other, so the
  /// call would never return.
  [[nodiscard]] Result<Outcome> Acquire(const AcquireRequest& request, Deadline deadline);

  /// Changes limits and entities in the backend and discards the cached pairs that the changes
  /// affect, also if the call fails, because the changes may have been made. Requests that begin
  /// after `done` was called see the changes. Errors are those of ConfigStore::Apply.
  void Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done);
  /// As above, but blocks, under the same requirement as the blocking Acquire.
  [[nodiscard]] Status Apply(std::vector<ConfigChange> changes, Deadline deadline);

  /// Returns the limits that apply to a pair and the levels that they come from, from the cache if
  /// possible. Blocks, under the same requirement as the blocking Acquire. Errors are those of
  /// Resolver.
  [[nodiscard]] Result<ResolvedPtr> Resolve(std::string_view entity, std::string_view resource,
                                            Deadline deadline);
  /// Discards all cached pairs. The next request on each pair reads its limits again.
  void Invalidate();

  /// Returns the counters. Each is read once, but not all at the same instant.
  LimiterStats stats() const;
  /// Returns the times, in nanoseconds, from each request to the store to its decision.
  HistogramSnapshot StoreLatency() const;

 private:
  friend class Lease;
  class WEIR_INTERNAL State;
  std::shared_ptr<State> state_;
};

}  // namespace weir
