// Decisions: may this entity use this resource now? Mechanism: docs/design/limiter.md.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/done.h"
#include "weir/limiter/lease.h"
#include "weir/limiter/limiter_stats.h"
#include "weir/limiter/resolver.h"
#include "weir/model/tokens.h"
#include "weir/runtime/deadline.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/backend.h"
#include "weir/telemetry/histogram.h"
#include "weir/telemetry/log.h"

namespace weir {

struct LimiterOptions {
  /// How long resolved limits and entities are believed; 0: never. Changes made through this
  /// Limiter are seen at once whatever it says; changes by other processes within this time.
  milliseconds cache_ttl{60'000};
  /// At most so many resolved (entity, resource) pairs are remembered; those leave first that were
  /// not used lately.
  std::size_t cache_capacity = 200'000;
  /// Where neither the request nor the system level says.
  OnUnavailable on_unavailable = OnUnavailable::kBlock;
  /// At most so many requests wait; one more is refused with kResourceExhausted.
  std::size_t max_waiting = 100'000;
  /// At most so many pairs have an allowance; the others ask the store.
  std::size_t max_allowances = 10'000;
  /// How long the store may take for an adjust of a lease.
  milliseconds lease_timeout{5'000};
  /// Receives "limiter.admitted_without_charge" (see uncharged_log.h) and "limiter.limits_outdated"
  /// (see outdated_log.h). Never null; must outlive the Limiter.
  Log* log = &NoLog();
  /// Seeds the tokens that make returns count once. Fixed in tests; otherwise from the system.
  std::optional<std::uint64_t> seed = std::nullopt;
};

/// The views must live until Acquire returns; what is needed later is copied.
struct AcquireRequest {
  std::string_view entity;
  std::string_view resource;
  Amounts amounts;
  /// Wait until then for tokens, first come first served on each bucket, instead of being refused.
  /// Refused at once, with the decision, if the wait is known to be longer. A request without this
  /// is refused while others wait for one of its buckets, whatever its balance.
  std::optional<Deadline> wait_until = std::nullopt;
  /// Instead of the limits that are set; the entity's own bucket only is charged.
  std::optional<std::vector<Limit>> limits = std::nullopt;
  std::optional<OnUnavailable> on_unavailable = std::nullopt;
};

/// An answer: the decision and, if it is admitted, the lease. If limits have an allowance
/// (Limit::allowance), their capacity is shown less the part set aside for it, and a decision that
/// was made here, without the store, shows as available the tokens that the bucket had left at its
/// last answer plus those that this Limiter holds. The decision has no statuses if it is
/// unprotected or contended, or if it was refused behind others and its buckets could not be read.
class Outcome {
 public:
  Outcome(Decision decision, Lease lease)
      : decision_(std::move(decision)), lease_(std::move(lease)) {}

  bool admitted() const { return decision_.admitted; }
  const Decision& decision() const { return decision_; }
  /// True where the store did not answer and the policy was to allow: there is nothing to give
  /// back.
  bool unprotected() const { return admitted() && !lease_.active(); }
  /// REQUIRES: admitted().
  Lease lease() && { return std::move(lease_); }

 private:
  Decision decision_;
  Lease lease_;
};

/// Thread-safe. Backend and Scheduler must outlive it; it must outlive its leases, and is destroyed
/// only when no call is under way, save requests that may wait: these are answered kCancelled, one
/// whose try is under way when the store answers (what it took then is given back).
class Limiter {
 public:
  Limiter(Backend& backend, Scheduler& scheduler, LimiterOptions options = {});
  ~Limiter();
  Limiter(const Limiter&) = delete;
  Limiter& operator=(const Limiter&) = delete;

  /// A refusal is an Outcome. An error is kInvalidArgument (the request can never succeed: unknown
  /// limit names, negative amounts, amounts over a capacity, no limits anywhere) or what the store
  /// answered, where the policy is to block. Deadline: for the store's answer; of a request that
  /// waits, every later try has as long as the first had. `done` may run on the scheduler's thread.
  void Acquire(const AcquireRequest& request, Deadline deadline, Done<Outcome> done);
  /// Blocks. REQUIRES: not called on the scheduler's own thread, nor within a `done`: results on a
  /// thread follow one another, so it would wait for ever.
  [[nodiscard]] Result<Outcome> Acquire(const AcquireRequest& request, Deadline deadline);

  /// Changes limits and entities, and forgets what this Limiter remembered of them.
  void Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done);
  [[nodiscard]] Status Apply(std::vector<ConfigChange> changes, Deadline deadline);

  /// Which limits hold for a pair and which level they come from.
  [[nodiscard]] Result<ResolvedPtr> Resolve(std::string_view entity, std::string_view resource,
                                            Deadline deadline);
  /// Forgets everything remembered.
  void Invalidate();

  LimiterStats stats() const;
  /// Nanoseconds from each request to the store to its decision.
  HistogramSnapshot StoreLatency() const;

 private:
  friend class Lease;
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace weir
