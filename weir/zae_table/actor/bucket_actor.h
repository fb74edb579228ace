// All writes of one process on one bucket: a protocol without I/O.
// Mechanism and proof: docs/design/actor.md, docs/design/acquire.md, docs/design/write-fence.md.
//
// A part:
//
//   Accept --> queued --> carried by a write in flight -- applied --> PartOutcome
//                ^                      |
//                +----------------------+  certainly not applied
//
// A write (OnWrite):
//
//                    +-- applied --------------> OnWriteApplied: its parts end; the new image is
//                    |                           learned
//                    |
//   SendChoice,    --+-- condition failed -----> OnConditionFailed: the slot in the returned item
//   Dispatch         |                           shows which writes of the round were applied
//                    |
//                    +-- certainly not applied > NotApplied: a pause; its parts fail or are retried
//                    |
//                    +-- no response ----------> in doubt: a pause; the next write, or a probe,
//                                                settles it, or Abandon after 10 s
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "weir/dynamodb/table.h"
#include "weir/zae_table/actor/batch_choice.h"
#include "weir/zae_table/actor/bucket_flights.h"
#include "weir/zae_table/actor/contention_pace.h"
#include "weir/zae_table/actor/pending_parts.h"
#include "weir/zae_table/actor/write_gathering.h"
#include "weir/zae_table/actor/write_window.h"
#include "weir/zae_table/bucket/time_ahead.h"

namespace weir::dynamo {

/// Settings and counters that all actors of a process share.
struct ActorTerms {
  const Keys& keys;
  Quota writes;              ///< the quota of `wcu` in items that are created
  milliseconds refusal_age;  ///< the greatest age of an image that a refusal may rely on
  milliseconds repair_rest;  ///< the least time between two writes that carry repairs, per bucket
  std::uint64_t instance;    ///< FenceValue::instance, drawn when the backend was opened
  /// Returns 64 random bits. A forked process must draw other bits than its parent.
  std::function<std::uint64_t()> draw;
  /// Returns true if recent responses of the service confirm the bucket time
  /// (JsonClient::ConfirmedNow).
  std::function<bool()> is_time_confirmed = [] { return false; };
  std::function<void(const FenceValue&, const BucketRequest&)> observe_plan{};  ///< may be empty
  PartId last_part = 0;          ///< the latest identifier of a part in this process
  std::uint64_t last_write = 0;  ///< the latest identifier of a write in this process
  WriteWindow window{};          ///< of all writes of the process
};

/// The result of a read of one bucket.
struct BucketItems {
  std::optional<Item> item;
  Owner owner;           ///< needed only if there is no item
  bool divided = false;  ///< shard 1 exists
};

/// Owns the image of one bucket (or of one shard), the parts that requests want written on it, and
/// at most one round of writes (WriteFence). Not thread-safe.
///
/// Every event may add work for the caller to its Step. The caller sends each write and reports its
/// outcome to OnWrite, makes the read and reports it to OnRead, and calls OnTime at wake().
class BucketActor {
 public:
  /// A write that is to be sent.
  struct Outgoing {
    std::uint64_t write = 0;    ///< its identifier, for OnWrite
    std::vector<Write> writes;  ///< one: a single write; more: one transaction
    std::string token{};        ///< the idempotency token of the transaction
  };
  /// The work that an event causes.
  struct Step {
    PartReports reports{};
    std::vector<Outgoing> sends{};
    bool read = false;         ///< the item is to be read, for OnRead
    bool divide = false;       ///< the item is written so often that its bucket should be divided
    milliseconds set_back{0};  ///< if `rf` was set back: how far ahead it was
  };
  using WriteOutcome = tl::expected<WriteResponse, WriteFailure>;

  /// `terms` must outlive the actor.
  BucketActor(ActorTerms& terms, BucketKey key);

  /// Judges the take by the image, less the tokens that all pending parts may use.
  Opinion Judge(const Part& take, const ProtocolTime& moment) const {
    return View(moment).Judge(take, parts_.queue());
  }
  /// Returns true if a write should precede the result that is computed from the limits of the take
  /// (of a refusal, its wait): one that stores these limits, or one that marks or sets back an `rf`
  /// that is far ahead (time_ahead.h). False while the actor waits for the window, and for
  /// `repair_rest` after such a write.
  bool WantsRepair(const Part& take, const ProtocolTime& moment) const;
  /// Returns kOutOfRange if the adjust would leave more debt than kMaxDebt, and kDeadlineExceeded
  /// if it would count too late. Returns nothing if the item is not known.
  std::optional<Status> CheckAdjust(const Part& adjust, const ProtocolTime& moment) const;
  /// Returns true if the image is older than half of `refusal_age`, and neither a read nor a write
  /// is in flight that would return a newer one. Refresh then makes the next Continue read the
  /// item.
  bool IsAging(const ProtocolTime& moment) const;
  void Refresh() { refreshes_ = true; }

  /// See PendingParts for these functions; GiveBack is QueueReturn there. The caller must call
  /// Continue after Accept and GiveBack.
  void Accept(Part part) { parts_.Accept(std::move(part)); }
  PendingParts::Withdrawal Withdraw(PartId take) { return parts_.Withdraw(take); }
  PendingParts::Withdrawal Drop(PartId take, bool keeps) { return parts_.Drop(take, keeps); }
  bool IsWaiting(PartId part) const { return parts_.IsWaiting(part); }
  void GiveBack(Part taken, const ProtocolTime& moment) {
    parts_.QueueReturn(std::move(taken), moment.at);
  }
  bool HasAdjust(AdjustId adjust_id) const { return parts_.queue().FindAdjust(adjust_id) != 0; }
  bool is_full() const { return parts_.is_full(); }

  /// Starts the reads and writes that are due now, and computes wake().
  void Continue(const ProtocolTime& moment, Step& step);
  /// Ends parts whose time is over and doubts that are older than 10 s, then continues.
  void OnTime(const ProtocolTime& moment, Step& step);
  /// Processes the result of the read in flight, then continues.
  void OnRead(Result<BucketItems> items, const ProtocolTime& moment, Step& step);
  /// Processes the outcome of a write, then continues. Ignores a write whose round is settled.
  void OnWrite(std::uint64_t write, WriteOutcome outcome, const ProtocolTime& moment, Step& step);
  /// Learns an image that was obtained by other means than a read or write of this actor.
  void Learn(BucketImage image, const ProtocolTime& moment) {
    Learn(std::move(image), {.id = flights_.last_id()}, moment);
  }
  void Forget() { seen_.Forget(); }

  const BucketKey& key() const { return key_; }
  const SeenBucket& seen() const { return seen_; }
  /// The time at which OnTime should be called; kNoTime: no time.
  Instant wake() const { return wake_; }
  /// Returns true if no part is pending, no write or read is in flight, and no write is in doubt.
  /// Only then may the actor be destroyed.
  bool is_idle() const {
    return parts_.queue().is_empty() && flights_.is_empty() && flights_.is_settled() && !reading_;
  }
  /// Returns the write for which the actor needs room in the window, if it is sent at `moment`;
  /// nothing if the actor does not wait for room. The caller calls Continue when there is room.
  std::optional<AwaitedWrite> AwaitedWriteAt(const ProtocolTime& moment) const;

 private:
  /// The request whose response contained an image.
  struct ImageRequest {
    std::uint64_t id = 0;  // the latest write whose effect the image must show
    PartId last_part = 0;  // the latest part that was accepted before the request was sent
  };

  TakeJudge View(const ProtocolTime& moment) const {
    return {seen_, terms_.refusal_age, moment.at};
  }

  // Sending.

  /// Returns true if a write may be sent now: no pause, no hold for other callers, and a write in
  /// flight, if there is one, is so late that another may supersede it.
  bool MaySend(const ProtocolTime& moment);
  /// Returns true if a caller has too little time left to wait for other callers.
  bool HasUrgentPart(const ProtocolTime& moment) const;
  /// Takes one step towards the next write: ends parts, or starts a read, a write or a probe.
  /// Returns true if it may be called again at once.
  bool StepTowardsWrite(const ProtocolTime& moment, Step& step);
  /// Returns false if the window has no room for a write; the actor then waits for room.
  bool EntersWindow();
  /// Requests a read, unless one is in flight.
  void Read(Step& step);
  /// Reserves a fence value for a write that carries `parts`. Returns nothing if other processes
  /// hold all slots of the item; the write then is not fenced.
  std::optional<WriteFence::Guard> BeginFenced(const std::vector<PartId>& parts,
                                               const ProtocolTime& moment);
  /// Returns the next step for an `rf` that is far ahead; kNone also if the bucket time is not
  /// confirmed.
  AheadStep NextAheadStepAt(const ProtocolTime& moment) const;
  /// Stores in seen_ when the `rf` of the image will be set back.
  void NoteAhead(const ProtocolTime& moment);
  bool IsRepair(PartId part) const;
  /// Plans the write of the choice: a step of time_ahead.h, an update, or the creation of the item.
  Result<BucketPlan> Plan(const Choice& choice, const ProtocolTime& moment,
                          const WriteFence::Guard* guard) const;
  /// Plans and dispatches the write of the choice. Returns true if parts ended instead, because no
  /// write is needed or none can be planned.
  bool SendChoice(Choice choice, const ProtocolTime& moment, Step& step);
  /// Ends the parts that no write carries: with the error, or as applied if there is no error.
  /// Returns true if a part ended.
  bool EndUnwritten(const std::vector<PartId>& parts, const std::optional<Error>& error,
                    const ProtocolTime& moment, Step& step);
  /// Adds the planned write to the step and to the writes in flight.
  void Dispatch(Choice choice, BucketPlan plan, const std::optional<WriteFence::Guard>& guard,
                const ProtocolTime& moment, Step& step);
  /// Settles writes in doubt if no part is to be written: sends a write that changes only the slot,
  /// or reads the item if there is no image.
  void Probe(const ProtocolTime& moment, Step& step);

  // Outcomes of writes.

  void OnWriteApplied(const Flight& flight, const WriteResponse& response,
                      const ProtocolTime& moment, Step& step);
  /// A condition of the write failed.
  void OnConditionFailed(const Flight& flight, WriteFailure failure, const ProtocolTime& moment,
                         Step& step);
  /// Another process has recorded the adjust of this write, and so has applied it.
  void AdjustAlreadyRecorded(const Flight& flight, const ProtocolTime& moment, Step& step);
  /// The write was certainly not applied: it was throttled, refused, cancelled or never sent.
  void NotApplied(const Flight& flight, const WriteFailure& failure, const ProtocolTime& moment,
                  Step& step);
  /// The condition failed because of a write of another process.
  void OnLostToOthers(const Flight& flight, const ProtocolTime& moment, Step& step);
  /// Reports the parts whose outcome a response has shown.
  void Settle(const WriteFence::Settlement& settled, const ProtocolTime& moment, Step& step);

  // Images.

  /// Learns the item as the response to `request`. If the item cannot be used, pending parts fail.
  void LearnItem(const Item& item, const ImageRequest& request, const ProtocolTime& moment,
                 Step& step);
  void Learn(BucketImage image, const ImageRequest& request, const ProtocolTime& moment);
  /// Fails all parts that no write carries, except adjusts that may succeed later.
  void FailPending(const Error& error, const ProtocolTime& moment, Step& step);
  /// Computes wake_ from the deadlines of the parts, the writes in flight, pauses and holds.
  void SetWake(const ProtocolTime& moment);

  ActorTerms& terms_;
  const BucketKey key_;
  SeenBucket seen_;
  PendingParts parts_;
  BucketFlights flights_;
  ContentionPace pace_;
  WriteGathering gathering_;
  bool refreshes_ = false;              // the next Continue reads the item
  bool reading_ = false;                // a read is in flight
  bool awaits_window_ = false;          // a write could be sent if the window had room
  ImageRequest read_{};                 // the read in flight
  bool needs_read_ = false;             // parts that are pending cannot be decided without a read
  bool image_is_read_ = false;          // the image is not the result of a write of this process
  bool latest_records_adjust_ = false;  // the latest write recorded the id of an adjust
  Instant repaired_at_{INT64_MIN};      // the time at which the latest write with a repair was sent
  Instant wake_ = kNoTime;
};

}  // namespace weir::dynamo
