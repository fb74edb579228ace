// One request of the rate limit service, while the limiter decides its descriptors.
//
//   Start --> a look for looks and takes (if there are looks) --> takes, all or none --+
//         +-> charges and returns without a decision ----- (if nothing is decided) ----+--> Respond
//         +-> each take and look of a shadow rule, alone - (if there is nothing else) -+
#pragma once

#include <absl/container/inlined_vector.h>

#include <memory>
#include <optional>
#include <span>
#include <thread>

#include "weir/grpc/call.h"
#include "weir/limiter/limiter.h"
#include "weir/service/active_rules.h"
#include "weir/service/check_response.h"
#include "weir/service/descriptor_plan.h"
#include "weir/service/request_log.h"
#include "weir/service/service_counts.h"

namespace weir::service {

/// Made for each request, kept alive by the operations that are in flight. Runs on one thread; the
/// limiter's results are posted to it.
class PendingCheck : public std::enable_shared_from_this<PendingCheck> {
 public:
  /// What all requests of a loop use. Must outlive them.
  struct Terms {
    Limiter& limiter;
    ServiceCounts& counts;
    RequestLog& log;
    std::atomic<std::size_t>& in_flight;  ///< requests of the loop without a response
    std::atomic<std::size_t>& detached;   ///< of the loop: see Detach
    std::size_t max_detached;
    milliseconds store_timeout;
  };

  PendingCheck(const Terms& terms, CheckKind kind, const grpc::CallHead& head,
               grpc::CallWriter writer);
  ~PendingCheck();
  PendingCheck(const PendingCheck&) = delete;
  PendingCheck& operator=(const PendingCheck&) = delete;

  /// `rules` are those of the plan.
  void Start(DescriptorPlans plan, ActiveRulesPtr rules);

 private:
  using Action = PlannedDescriptor::Action;
  using Indices = absl::InlinedVector<std::size_t, 4>;

  // Returns the descriptors with this action, without those of shadow rules.
  Indices Select(Action action) const;
  // Returns whether the response waits for what the limiter does for this descriptor.
  bool Awaits(const PlannedDescriptor& planned) const;
  void StartShadows();
  // Makes the corrections of descriptors with limits of their own in one adjust, and each of the
  // others, and of shadow rules, alone.
  void StartCorrections();
  void Correct(Indices indices);
  // `indices` are the descriptors of one Correct.
  void OnCorrected(const Indices& indices, const Status& status);
  void StartTakes(const Indices& looks);
  // Sends the parts of these descriptors to the limiter. If `only_look`, nothing is taken.
  void Acquire(Indices indices, bool only_look);
  void OnOutcome(Result<GroupOutcome> outcome);
  // A descriptor of `asked_` cannot be decided, whatever the store's state: refuses the request.
  void OnUndecided(const Error& error);
  void OnShadow(std::size_t index, const Result<GroupOutcome>& outcome);
  // Returns whether the descriptor of a shadow rule is left out, because too many requests are
  // detached already.
  bool IsLeftOut(const PlannedDescriptor& planned) const;
  // Marks the descriptors that are left out as undecided.
  void LeaveOutShadows();
  // The operation for a descriptor that the response does not wait for has ended.
  void Settle(std::size_t index);
  // Records the states of these descriptors. Returns whether one is over its limit.
  bool Record(std::span<const std::size_t> indices, const GroupOutcome& outcome);
  void RefuseRequested();

  // Begin and End count the operations in flight that the response waits for; those for a
  // descriptor also the others.
  void Begin() { ++awaited_; }
  void End();
  void Begin(const PlannedDescriptor& planned) { Awaits(planned) ? ++awaited_ : ++unawaited_; }
  void End(const PlannedDescriptor& planned);
  // Takes a place among the requests that may outlive their response, if this one may.
  void ReserveDetachment();
  // Called after the response if operations are in flight: from now on the request takes none of
  // the space of calls and requests in flight, so a slow bucket of a shadow rule cannot make the
  // service refuse requests.
  void Detach();
  void Respond();
  void RespondWithError(Error error);
  // `rule` is null if it is not known.
  void NoteUndecided(const rules::Rule* rule, const Error& error);
  void NoteShadowUndecided(const PlannedDescriptor& planned, const Error& error);
  void NoteLostCharge(const Error& error);
  void CountRules();
  void CountRule(const PlannedDescriptor& planned, const DescriptorResult& result);

  template <class T, class Function>
  class OnThread;
  /// Returns a Done that runs `function` on this object's thread. The Done allocates nothing if
  /// `function` captures nothing.
  template <class T, class Function>
  Done<T> Here(Function function);

  const Terms terms_;
  const CheckKind kind_;
  const grpc::RequestIds ids_;
  Scheduler& loop_;
  const std::thread::id thread_;
  const Deadline caller_deadline_;
  const Deadline store_deadline_;  // of charges without a decision; no decision has a later one
  std::optional<grpc::CallWriter> writer_;  // nothing once the request is detached
  DescriptorPlans plan_;
  ActiveRulesPtr rules_;
  DescriptorResults results_;
  // The descriptors of the latest Acquire; at most one Acquire is in flight. Stored here, so that
  // its Done captures nothing and therefore allocates nothing.
  Indices asked_;
  bool only_looks_ = false;
  std::size_t awaited_ = 0;
  std::size_t unawaited_ = 0;
  bool may_detach_ = true;      // false: too many may; the response waits for all that it starts
  bool has_reserved_ = false;   // ReserveDetachment took a place
  bool has_acquire_ = false;    // of at least one descriptor, not of a shadow rule
  bool has_enforced_ = false;   // at least one descriptor with an action, not of a shadow rule
  bool has_corrected_ = false;  // a charge or return without a decision was made
  std::optional<Error> lost_;   // of the last such charge that failed
  bool is_refused_ = false;
  bool is_unprotected_ = false;
  std::optional<Error> error_;
};

}  // namespace weir::service
