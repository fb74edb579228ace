// One Acquire or Adjust on buckets in DynamoDB, over the actors of its buckets: without I/O.
// Mechanism: docs/design/acquire.md, "A request on several buckets".
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "weir/base/done.h"
#include "weir/dynamo/bucket_actor.h"
#include "weir/dynamo/shard_route.h"
#include "weir/runtime/deadline.h"

namespace weir::dynamo {

/// What is asked, whatever becomes of it.
struct CallRequest {
  enum class Kind {
    kAcquire,
    kAdjust,
    kConform,  ///< the target's limits are to be stored, in the shards that exist
  };
  Kind kind = Kind::kAcquire;
  std::vector<Charge> charges;
  AdjustId token{};          ///< of kAdjust
  bool is_recorded = false;  ///< of kAdjust: BucketStore::AdjustShared
  bool keeps = false;        ///< BucketStore::AcquireAndKeep
  UnixMillis now;            ///< bucket time at `came`, by the caller
  Instant came;
  Deadline deadline = Deadline::Never();
};

/// The wait in the refusal of a call that only lost to others.
inline constexpr milliseconds kContendedWait{100};

/// The actors that a call uses, for one event.
class CallActors {
 public:
  virtual ~CallActors() = default;
  virtual BucketActor& At(const BucketKey& key) = 0;
  /// The same for a change; the actor continues after the event.
  virtual BucketActor& Change(const BucketKey& key) = 0;
  /// Accepts the part; its actor continues after the event.
  virtual PartId Accept(Part part) = 0;
  virtual void Refresh(const BucketKey& key) = 0;
  /// Of an adjust: it was counted before (or will be known to be forfeited), so it is not accepted.
  virtual std::optional<Status> Counted(const BucketKey& key, AdjustId token) = 0;
  virtual const Moment& moment() const = 0;
};

/// All charges or none. The call first asks the actors of all its buckets, then reserves in all of
/// them at once, and the actors write. A call that is refused half-way gives back what it took,
/// and asks once more, one bucket after the other in the order of the keys: two calls that hold a
/// part each of what both need would refuse each other. An adjust counts once for each bucket, so
/// that one that failed half-way is completed by its repetition.
class BucketCall {
 public:
  enum class Next {
    kWaits,     ///< for outcomes
    kAnswers,   ///< `answer` is there, and the call has ended
    kReroutes,  ///< its buckets are divided otherwise: Begin with another route
    kRefused,   ///< one shard refused it: Begin with another route, or `answer` is the refusal
  };

  BucketCall(std::uint64_t id, CallRequest request) : id_(id), request_(std::move(request)) {}

  Next Begin(Route route, CallActors& actors);
  Next OnOutcome(const PartOutcome& outcome, CallActors& actors);

  /// After kReroutes: shards are made for the call, which gives up at its deadline.
  void AwaitShards(CallActors& actors);
  void EndWait(CallActors& actors);

  /// The call, of which nothing is written, ends with this error.
  void GiveUp(Error error, CallActors& actors);

  const CallRequest& request() const { return request_; }
  const Route& route() const { return route_; }
  Result<Decision> TakeAnswer() { return *std::move(answer_); }
  /// With kReroutes: buckets with shards that are missing, or that have an older count of shards.
  std::vector<BucketKey> TakeIncomplete() { return std::exchange(incomplete_, {}); }

  int refusals = 0;  ///< by shards, of which others may pay
  int detours = 0;   ///< because the buckets are divided otherwise
  std::vector<BucketKey> gone{};

 private:
  enum class Stage {
    kOpen,
    kPending,
    kApplied,
    kEnded,    ///< not applied
    kCarried,  ///< reported as late, but a write still carries it
  };
  enum class Phase { kLooking, kRepairing, kWriting, kReturning, kHurrying, kAwaitingShards };
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

  Part PartOf(std::size_t index, Part::Kind kind) const;
  const BucketKey& KeyOf(std::size_t index) const { return route_.parts[index].target->key; }
  Next Reserve(CallActors& actors);
  Next ReserveTakes(CallActors& actors);
  Next ReserveAdjusts(CallActors& actors);
  Next Look(const std::vector<std::size_t>& unknown, CallActors& actors);
  bool Repairs(CallActors& actors);
  Next Write(CallActors& actors);
  void Accept(std::size_t index, Part::Kind kind, CallActors& actors);
  void Ended(std::size_t index, const PartOutcome& outcome);
  Next Fail(CallActors& actors);
  Next GiveBack(CallActors& actors);
  Next Hurry(CallActors& actors);
  bool AdmitsLate() const;
  void LeavePart(std::size_t index, bool keeps, CallActors& actors);
  Next Conclude(CallActors& actors);
  Next Contended();
  Next Answer(Result<Decision> answer);
  Decision Told(bool admitted) const;

  std::uint64_t id_;
  CallRequest request_;
  Route route_;
  std::vector<CallPart> parts_;
  std::vector<std::size_t> order_;  // of the keys
  Phase phase_ = Phase::kLooking;
  std::size_t pending_ = 0;
  bool in_order_ = false;
  bool repeats_ = false;      // after what was taken is given back
  bool is_repaired_ = false;  // the limits of the buckets are stored, or this was tried
  bool in_doubt_ = false;
  std::optional<Failure> failure_;
  std::vector<BucketKey> incomplete_;
  std::optional<Result<Decision>> answer_;
};

}  // namespace weir::dynamo
