// Decides whether an entity may use a resource now. Mechanism: docs/design/limiter.md.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/done.h"
#include "weir/limiter/group/group_request.h"
#include "weir/limiter/limiter_stats.h"
#include "weir/limiter/outcome.h"
#include "weir/limiter/peek.h"
#include "weir/limiter/resolution/resolver.h"
#include "weir/model/tokens.h"
#include "weir/runtime/deadline.h"
#include "weir/runtime/executor.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/backend.h"
#include "weir/store/bucket/bucket_credit.h"
#include "weir/telemetry/histogram.h"
#include "weir/telemetry/log.h"

namespace weir {

struct WEIR_API LimiterOptions {
  /// Time for which resolved limits and entities are cached; 0 disables the cache. Changes made
  /// through this Limiter apply at once, independent of this time; changes by other processes apply
  /// within this time.
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
  /// Time within which the store must respond to an adjust of a lease and to each try of a waiting
  /// request. A request that does not wait gives the store its whole deadline.
  milliseconds store_timeout{5'000};
  /// Receives "limiter.admitted_without_charge" (see uncharged_log.h) and "limiter.limits_outdated"
  /// (see outdated_log.h). Must not be null; must outlive the Limiter.
  Log* log = &NoLog();
  /// Runs the callbacks of asynchronous calls, so that they may block and never delay the store: a
  /// thread pool. (Blocking calls fail within the tasks of a Loop.) Null: callbacks run on the
  /// thread that completes the call. Must outlive the last callback. If the executor drops a
  /// task, the callback gets kCancelled, and tokens that were taken stay taken.
  Executor* callbacks = nullptr;
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
  /// If true, the request waits for tokens until the deadline of the call instead of being refused.
  /// Each bucket serves its waiting requests in the order of their arrival. A request is refused at
  /// once if its wait is known to end after the deadline. A request that does not wait is refused
  /// while other requests wait for one of its buckets, even if the bucket has tokens.
  bool wait = false;
  /// Ends the wait for tokens earlier than the deadline of the call, so that time is left for the
  /// report of the refusal. Has no effect on a request that does not wait.
  Deadline wait_until = Deadline::Never();
  /// Ends the wait: once a stop is requested, the request completes with kCancelled. If a try is in
  /// flight then, its result decides: an admission stays an admission. Has no effect on a request
  /// that does not wait.
  std::stop_token stop{};
  /// Replaces the configured limits for this request. Only the entity's own bucket is then charged.
  /// If a configured limit has the same name, the bucket keeps the configured rate. Do not give
  /// such a limit an allowance with a smaller rate: the allowance would then set aside too little
  /// (docs/design/allowances.md).
  std::optional<std::vector<Limit>> limits = std::nullopt;
  /// The policy for an unavailable store; overrides the system level and the options.
  std::optional<OnUnavailable> on_unavailable = std::nullopt;
};

/// Admits or refuses requests under the limits of a backend. Thread-safe.
///
/// The Backend and the Scheduler must outlive the Limiter. The Limiter may be destroyed only when
/// no call is in flight, except for waiting requests: these complete with kCancelled. A waiting
/// request whose try is in flight completes when the store responds, and tokens that the try took
/// are given back. A try that begins on the scheduler's thread during the destruction may still
/// call the backend, and so may a return of tokens that an allowance held. If requests may be
/// waiting, or limits have allowances, destroy the backend only after a task has run that was
/// posted to the scheduler after the destruction: it runs after these.
class WEIR_API Limiter {
 public:
  Limiter(Backend& backend, Scheduler& scheduler, LimiterOptions options = {});
  ~Limiter();
  Limiter(const Limiter&) = delete;
  Limiter& operator=(const Limiter&) = delete;

  /// Requests tokens and passes the outcome to `done`. A refusal is an Outcome, not an error.
  ///
  /// The request completes by `deadline`, provided that the store completes each call by the call's
  /// deadline. `done` runs on LimiterOptions::callbacks. Without that executor, `done` may run,
  /// with any backend, on the calling thread before Acquire returns, on the thread on which the
  /// store completes, on the scheduler's thread, or on the thread that destroys the Limiter. It
  /// then must not block: other requests wait for the same thread.
  ///
  /// Errors:
  ///   kInvalidArgument     the request can never succeed: an unknown limit name, no or negative
  ///                        amounts, an amount over a capacity, or no limits at any level
  ///   kFailedPrecondition  the entity's chain of parents is a cycle or longer than kMaxCascade
  ///   kResourceExhausted   max_waiting requests wait already, or the store has no space
  ///                        for another bucket
  ///   kCancelled           the Limiter was destroyed, or a stop was requested, while the request
  ///                        waited
  ///   an error of the store, which the policy may turn into an unprotected admission if the store
  ///   was unavailable
  void Acquire(const AcquireRequest& request, Deadline deadline, Done<Outcome> done);
  /// Requests tokens and blocks until the outcome is available. Fails with kFailedPrecondition on a
  /// thread that runs callbacks (CallbackScope), because the call might wait for itself.
  [[nodiscard]] Result<Outcome> Acquire(const AcquireRequest& request, Deadline deadline);

  /// Requests the tokens of several parts, all or none, and passes the outcome to `done`, which
  /// runs as for Acquire. The request does not wait for tokens: it is refused if a limit of any
  /// part refuses it, or while other requests wait for one of the buckets. Counts as one request.
  /// The viewed strings and parts must stay valid until the call returns.
  ///
  /// Errors are those of Acquire, and kInvalidArgument if there are no parts, more than kMaxParts,
  /// more than kMaxCharges buckets, or different limits for one bucket (AcquirePart::target). If
  /// there are several parts, the message names the part if it is known (Error::part). Unlike in
  /// Acquire, an amount over a capacity is not an error: the request is refused with
  /// kNeverAdmitted, and the caller gets the limits' statuses.
  void AcquireAll(const GroupRequest& request, Deadline deadline, Done<GroupOutcome> done);
  /// Like the overload above, but blocks like the blocking Acquire.
  [[nodiscard]] Result<GroupOutcome> AcquireAll(const GroupRequest& request, Deadline deadline);

  /// Charges without a decision, all parts or none: positive amounts take tokens and may leave a
  /// debt, negative amounts give tokens back up to the capacity; amounts on one bucket are added up
  /// first. Limits that block are ignored. There is no lease. The call counts once: if a result of
  /// the store leaves open whether it counts, it is sent again under the same id, a few times and
  /// until the deadline. It is not sent after the deadline, but a table retries a debit that it has
  /// accepted for up to 10 s, so that the charge is not lost. Buckets store the limits of the call
  /// as in Acquire. The errors are those of Acquire and of BucketStore::Adjust. After a definite
  /// error (see Lease) nothing was changed; after any other error the call may count or not, and
  /// may do so later. In a store that divides buckets, shard 0 is charged.
  void Debit(std::span<const AcquirePart> parts, Deadline deadline, Done<void> done);
  /// Like the overload above, but blocks like the blocking Acquire.
  [[nodiscard]] Status Debit(std::span<const AcquirePart> parts, Deadline deadline);

  /// Changes limits and entities in the backend and discards the cached pairs that the changes
  /// affect, also if the call fails, because the changes may have been made. Requests that begin
  /// after `done` was called see the changes. Errors are those of ConfigStore::Apply.
  void Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done);
  /// Like the overload above, but blocks like the blocking Acquire.
  [[nodiscard]] Status Apply(std::vector<ConfigChange> changes, Deadline deadline);

  /// Returns the limits that apply to a pair and the levels that they come from, from the cache if
  /// possible. Blocks like the blocking Acquire. Errors are those of Resolver.
  [[nodiscard]] Result<ResolvedPtr> Resolve(std::string_view entity, std::string_view resource,
                                            Deadline deadline);
  /// Returns the limits of a pair and their levels and balances, and whether and when a request for
  /// the amounts would be admitted. Takes nothing. Errors are those of weir::Peek.
  void Peek(const PeekRequest& request, Deadline deadline, Done<Peeked> done);
  /// Like the overload above, but blocks like the blocking Acquire.
  [[nodiscard]] Result<Peeked> Peek(const PeekRequest& request, Deadline deadline);
  /// Resets or tops up a bucket as an operator does, with an event in the audit log, and wakes the
  /// requests that wait for tokens. Results and errors are those of weir::Credit.
  void Credit(BucketCredit credit, Deadline deadline, Done<std::vector<CreditedLimit>> done);
  /// Like the overload above, but blocks like the blocking Acquire.
  [[nodiscard]] Result<std::vector<CreditedLimit>> Credit(BucketCredit credit, Deadline deadline);

  /// Discards all cached pairs. The next request on each pair reads its limits again.
  void Invalidate();

  /// Returns the counters. Each counter is read once, but not all at the same instant.
  LimiterStats stats() const;
  /// Returns the times, in nanoseconds, from each request to the store to its result.
  HistogramSnapshot StoreLatency() const;

 private:
  class WEIR_INTERNAL State;
  std::shared_ptr<State> state_;
};

}  // namespace weir
