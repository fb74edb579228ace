// One Acquire, Adjust or Conform over the actors of its buckets: a state machine without I/O.
// Mechanism: docs/design/actor.md, "A request on several buckets".
//
//   Begin
//     |
//     v                an item is not known
//   JudgeOpenParts ----------------------> kLooking -- images seen ----> JudgeOpenParts
//     |  |
//     |  +- none refuses --> kWriting -- all parts applied -------------> kEnded
//     |                         |
//     +- a bucket refuses --+   | a part is refused, or fails
//                           v   v
//            Fail: queued parts are withdrawn, those in flight are awaited
//                             |
//                             v
//            kReturning: applied takes are given back
//                             |
//                             v
//   Conclude -- refused half-way: once, bucket by bucket (one_by_one_) --> JudgeOpenParts
//            -- limits to be stored first --> kRepairing ----------------> JudgeOpenParts,
//                                                                          or kEnded (an adjust)
//            -- refused -------------------------------------------------> kRefused
//            -- bucket has other shards ---------------------------------> kReroutes
//            -- otherwise -----------------------------------------------> kEnded
//
// Only takes go through Fail; adjusts and conforms conclude when all parts have ended.
//
// At the deadline, kLooking, kWriting and kReturning go to EndAtDeadline, which waits for nothing
// but the outcomes of the same event (kDeadlinePassed), and then to Conclude. kRepairing goes to
// Conclude, and kAwaitingShards ends with the error.
//
// After kReroutes the protocol calls Begin again. If shards are missing, it first calls AwaitShards
// (kAwaitingShards), creates them, and calls EndWait.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "weir/base/done.h"
#include "weir/runtime/deadline.h"
#include "weir/zae_table/actor/bucket_actor.h"
#include "weir/zae_table/sharding/shard_route.h"

namespace weir::dynamo {

/// The arguments of a call. They do not change while it runs.
struct CallRequest {
  enum class Kind {
    kAcquire,
    kAdjust,
    kConform,  ///< stores the target's limits in the shards that exist
  };
  Kind kind = Kind::kAcquire;
  std::vector<Charge> charges;
  AdjustId adjust_id{};             ///< the id of a kAdjust
  bool is_recorded = false;         ///< kAdjust: AdjustTerms::is_shared
  bool stores_limits = false;       ///< kAdjust: AdjustTerms::stores_limits
  UnixMillis counts_by{INT64_MAX};  ///< kAdjust: AdjustTerms::counts_by
  bool keeps = false;               ///< kAcquire: BucketStore::AcquireAndKeep
  UnixMillis now;                   ///< the bucket time at `began_at`, from the caller
  Instant began_at;                 ///< the time at which the call began
  Deadline deadline = Deadline::Never();
};

/// The wait in the refusal of a call whose writes only failed because of other processes' writes.
inline constexpr milliseconds kContendedWait{100};

/// The actors that a call uses while it processes one event. References stay valid during the
/// event.
class CallActors {
 public:
  virtual ~CallActors() = default;
  /// Returns the actor of the bucket; creates it if there is none.
  virtual BucketActor& At(const BucketKey& key) = 0;
  /// Like At, but for a change of the actor: its Continue runs at the end of the event.
  virtual BucketActor& Modify(const BucketKey& key) = 0;
  /// Gives the part to the actor of its target and returns its identifier. The actor's Continue
  /// runs at the end of the event.
  virtual PartId Accept(Part part) = 0;
  /// Starts a read in the background if the image of the bucket gets old.
  virtual void Refresh(const BucketKey& key) = 0;
  /// Returns nothing if the adjust is to be accepted: it is pending, or not known. Otherwise
  /// returns its result: OK if it was counted, kUnavailable if it was forfeited.
  virtual std::optional<Status> FindAdjustResult(const BucketKey& key, AdjustId adjust_id) = 0;
  /// Returns whether the adjust counts in this bucket, or may count: it was counted or forfeited,
  /// or is pending.
  virtual bool MayCountAdjust(const BucketKey& key, AdjustId adjust_id) = 0;
  /// The time of the event.
  virtual const ProtocolTime& moment() const = 0;
};

/// Takes all charges or none. The call first has all of its buckets judged, then queues a part in
/// each of their actors in one step, and the actors write. A call that is refused half-way gives
/// back the tokens that it took, and tries once more, one bucket after the other in the order of
/// the keys: two calls that each hold a part of what both need would refuse each other.
///
/// An adjust of which one bucket is known to fail changes none. Beyond that, it is not all or none:
/// it counts once for each bucket, so the repetition of an adjust that failed half-way completes
/// it. If a bucket fails with a definite error while others count, or may count, the error is
/// partial (Error::is_partial). Not thread-safe.
class BucketCall {
 public:
  enum class Next {
    kWaits,     ///< parts are pending: OnOutcome is to be called
    kEnded,     ///< the call has ended: TakeResult
    kReroutes,  ///< a bucket has other shards than assumed: Begin with another route
    kRefused,   ///< a shard refused it: Begin with another route, or end the call with TakeResult
  };

  BucketCall(std::uint64_t id, CallRequest request) : id_(id), request_(std::move(request)) {}

  /// Begins the call, or begins it again on another route. No part of the call may be pending.
  Next Begin(Route route, CallActors& actors);
  /// Processes the outcome of a part. Ignores parts of an earlier route.
  Next OnOutcome(const PartOutcome& outcome, CallActors& actors);

  /// After kReroutes: waits, until EndWait or the deadline, for shards that are being created.
  void AwaitShards(CallActors& actors);
  void EndWait(CallActors& actors);

  /// Ends the call with this error. REQUIRES: no part of it is pending, and none of its takes is
  /// applied.
  void GiveUp(Error error, CallActors& actors);

  const CallRequest& request() const { return request_; }
  /// Returns the result. REQUIRES: the latest Next was kEnded or kRefused, or GiveUp was called.
  Result<Decision> TakeResult() { return *std::move(result_); }
  /// After kReroutes: returns the buckets of which shards are missing, or have an older count of
  /// shards.
  std::vector<BucketKey> TakeIncomplete() { return std::exchange(incomplete_, {}); }

  // Maintained by the protocol.
  int refusals = 0;  ///< by single shards; other shards were tried after each refusal
  int detours = 0;   ///< how often a bucket had other shards than the route assumed
  /// For RouteAdjust: the shards of buckets of which shards were missing.
  std::vector<ShardCount> counts{};

 private:
  /// The state of one part.
  enum class Stage {
    kOpen,     ///< not accepted by its actor
    kPending,  ///< accepted; no outcome yet
    kApplied,
    kEnded,     ///< not applied, or given back
    kInFlight,  ///< reported as late, but a write in flight still carries it
  };
  enum class Phase {
    kLooking,         ///< parts of kind kLook are pending
    kRepairing,       ///< parts of kind kRepair are pending
    kWriting,         ///< takes, adjusts or conforms are pending
    kReturning,       ///< parts of kind kGiveBack are pending
    kDeadlinePassed,  ///< the deadline has passed; outcomes of the same event are not processed yet
    kAwaitingShards   ///< a part of kind kWait is pending
  };
  struct CallPart {
    PartId id = 0;
    Stage stage = Stage::kOpen;
    TakeVerdict verdict{};
  };
  /// Why the call ends without being applied.
  struct Failure {
    PartOutcome::Kind kind;
    std::optional<Error> error{};
  };

  /// Makes the part of one kind for the charge at this index of the route.
  Part PartOf(std::size_t index, Part::Kind kind) const;
  const BucketKey& KeyOf(std::size_t index) const { return route_.parts[index].target->key; }
  /// Returns the id of the adjust of this part (IdOfPart).
  AdjustId AdjustIdOf(std::size_t index) const;
  /// Judges all open parts, then reads unknown items, writes, or fails.
  Next JudgeOpenParts(CallActors& actors);
  Next JudgeTakes(CallActors& actors);
  Next JudgeAdjusts(CallActors& actors);
  /// Reads the items of these parts.
  Next StartLooks(const std::vector<std::size_t>& unknown, CallActors& actors);
  /// Returns true for an acquire of 0 tokens.
  bool IsLook() const;
  /// Starts the writes that precede the result (BucketActor::WantsRepair) of a call that is
  /// refused, looks at a limit without a token, or stores limits; at most once in a call. Returns
  /// false if no write is needed.
  bool StartRepairs(CallActors& actors);
  /// Queues all open parts in their actors, or only the next one if one_by_one_.
  Next QueueParts(CallActors& actors);
  /// Makes the part of one kind and gives it to its actor.
  void Submit(std::size_t index, Part::Kind kind, CallActors& actors);
  /// Notes the outcome of a part.
  void NoteOutcome(std::size_t index, const PartOutcome& outcome);
  void NoteFailure(Failure failure);
  /// All looks have ended: judges the open parts again, or concludes.
  Next EndLooks(CallActors& actors);
  /// The call is not admitted: withdraws the parts that no write carries, and awaits the others.
  Next Fail(CallActors& actors);
  /// Gives back the takes that were applied.
  Next GiveBack(CallActors& actors);
  /// The deadline has passed: leaves the parts to their actors, and concludes.
  Next EndAtDeadline(CallActors& actors);
  /// Returns true if the caller admits its request although the call fails at its deadline.
  bool KeepsAfterDeadline() const;
  /// Settles one part, or leaves it to its actor, so that its tokens are charged if and only if
  /// `keeps`.
  void SettleOrHandOver(std::size_t index, bool keeps, CallActors& actors);
  /// Ends the call, or begins a repetition or repairs that precede its end. REQUIRES: no part is
  /// pending.
  Next Conclude(CallActors& actors);
  Next EndContended();
  Next EndWithError(Error error, CallActors& actors);
  /// Returns whether the adjust counts in one of its buckets, or may count.
  bool MayCount(CallActors& actors) const;
  /// Returns the error for the caller. Of an adjust that may count, no error may say that nothing
  /// was changed.
  Error ToCaller(Error error, CallActors& actors) const;
  Next EndWith(Result<Decision> result);
  /// Makes the decision from the verdicts of the parts.
  Decision BuildDecision(bool admitted) const;

  std::uint64_t id_;
  CallRequest request_;
  Route route_;
  std::vector<CallPart> parts_;     // indexed like route_.parts
  std::vector<std::size_t> order_;  // indices of parts_, in the order of their keys
  Phase phase_ = Phase::kLooking;
  std::size_t pending_ = 0;         // parts in stage kPending, or being given back
  bool one_by_one_ = false;         // the second try: one part after the other
  bool repeats_ = false;            // a second try follows when the tokens are given back
  bool is_repaired_ = false;        // the limits of the buckets are stored, or this was tried
  bool adjusts_ = false;            // a part of kind kAdjust was queued
  bool in_doubt_ = false;           // a part may have been charged without being reported
  std::optional<Failure> failure_;  // the first failure; kDivided replaces any other
  std::vector<BucketKey> incomplete_;
  std::optional<Result<Decision>> result_;
};

}  // namespace weir::dynamo
