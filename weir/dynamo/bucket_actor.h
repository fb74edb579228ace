// All writes of one process on one bucket: a protocol without I/O.
// Mechanism and proof: docs/design/acquire.md, docs/design/write-fence.md.
//
//   parts accepted --> queue --> one write that carries all of them --> outcomes
//                        ^                   |
//                        +-- not applied ----+   (a condition failed, a response was lost)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "weir/dynamo/batch_choice.h"
#include "weir/dynamo/bucket_flights.h"
#include "weir/dynamo/pending_parts.h"
#include "weir/dynamo/table.h"
#include "weir/dynamo/time_ahead.h"
#include "weir/dynamo/write_gathering.h"
#include "weir/dynamo/write_pace.h"

namespace weir::dynamo {

/// What all actors of a process share.
struct ActorTerms {
  const Keys& keys;
  Quota writes;              ///< of items that are created
  milliseconds refusal_age;  ///< of an image that a refusal may rely on
  milliseconds repair_rest;  ///< between two writes that store the limits of refused takes
  std::uint64_t instance;    ///< of the fence: drawn when the backend was opened
  std::function<std::uint64_t()> draw;  ///< random, also in a process that was forked
  /// Recent responses of the service confirm the bucket time (JsonClient::ConfirmedNow).
  std::function<bool()> is_time_confirmed = [] { return false; };
  std::function<void(const FenceValue&, const BucketRequest&)> observe_plan{};
  PartId last_part = 0;          ///< the latest identifier of a part
  std::uint64_t last_write = 0;  ///< the same of a write
};

/// What is read of a bucket before its first write.
struct BucketItems {
  std::optional<Item> item;
  Owner owner;
  bool divided = false;  ///< shard 1 exists
};

/// Owns the image of one bucket (or shard), the parts that requests want written on it, and at most
/// one round of writes. Not thread-safe.
///
/// Every event may add to its step: outcomes of parts; a write to be sent, for OnWrite; a read, for
/// OnRead. `wake` is when OnTime is to be called.
class BucketActor {
 public:
  struct Outgoing {
    std::uint64_t write = 0;
    std::vector<Write> writes;  ///< one: an update; two: a transaction
    std::string token{};        ///< of a transaction
  };
  struct Step {
    PartReports reports{};
    std::vector<Outgoing> sends{};
    bool read = false;
    bool divide = false;       ///< the item is written so often that its bucket is to be divided
    milliseconds set_back{0};  ///< how far ahead `rf` was, if it was set back
  };
  using WriteOutcome = tl::expected<WriteAnswer, WriteFailure>;

  /// `terms` must outlive it.
  BucketActor(ActorTerms& terms, BucketKey key);

  /// By the image, less what all pending parts may use.
  Opinion Judge(const Part& take, const Moment& moment) const {
    return View(moment).Judge(take, parts_.queue());
  }
  /// Before the take is refused, its limits are to be stored, so that the wait is true; or `rf`,
  /// which is far ahead, is to be marked or set back (time_ahead.h).
  bool WantsRepair(const Part& take, const Moment& moment) const;
  /// kOutOfRange: the adjust would leave more debt than kMaxDebt. Nothing: its item is not known.
  std::optional<Status> CheckAdjust(const Part& adjust, const Moment& moment) const;
  /// An image that a refusal relied on gets old: it is read again in the background by the next
  /// Continue.
  bool IsAging(const Moment& moment) const;
  void Refresh() { refreshes_ = true; }

  /// As those of PendingParts. Continue follows Accept and GiveBack.
  void Accept(Part part);
  PendingParts::Withdrawal Withdraw(PartId take) { return parts_.Withdraw(take); }
  PendingParts::Withdrawal Drop(PartId take, bool keeps) { return parts_.Drop(take, keeps); }
  bool IsWaiting(PartId part) const { return parts_.IsWaiting(part); }
  void GiveBack(Part taken, const Moment& moment) { parts_.GiveBack(std::move(taken), moment.at); }
  bool HasAdjust(AdjustId token) const { return parts_.queue().FindAdjust(token) != 0; }
  bool is_full() const { return parts_.is_full(); }

  void Continue(const Moment& moment, Step& step);
  void OnTime(const Moment& moment, Step& step);
  void OnRead(Result<BucketItems> items, const Moment& moment, Step& step);
  void OnWrite(std::uint64_t write, WriteOutcome outcome, const Moment& moment, Step& step);
  /// An image that was obtained elsewhere.
  void Learn(BucketImage image, const Moment& moment) {
    Learn(std::move(image), {.id = flights_.last_id()}, moment);
  }
  void Forget() { seen_.Forget(); }

  const BucketKey& key() const { return key_; }
  const SeenBucket& seen() const { return seen_; }
  Instant wake() const { return wake_; }
  /// Nothing is pending, in flight, being read or in doubt: it may be destroyed.
  bool is_idle() const {
    return parts_.queue().is_empty() && flights_.is_empty() && flights_.is_settled() && !reading_;
  }

 private:
  /// What an image is the response to.
  struct ImageRequest {
    std::uint64_t id = 0;  // the latest write whose effect it must show
    PartId last_part = 0;  // the latest part that was accepted before
  };

  TakeView View(const Moment& moment) const { return {seen_, terms_.refusal_age, moment.at}; }
  bool MaySend(const Moment& moment);
  bool HasUrgentPart(const Moment& moment) const;
  bool Advance(const Moment& moment, Step& step);
  void Read(Step& step);
  std::optional<WriteFence::Guard> Begin(const std::vector<PartId>& parts, const Moment& moment);
  /// kNone also if the time is not confirmed.
  AheadStep NextStep(const Moment& moment) const;
  /// Keeps when the `rf` that was seen will be set back.
  void NoteAhead(const Moment& moment);
  bool IsRepair(PartId part) const;
  Result<BucketPlan> Plan(const Choice& choice, const Moment& moment,
                          const WriteFence::Guard* guard) const;
  bool Send(Choice choice, const Moment& moment, Step& step);
  bool EndUnwritten(const std::vector<PartId>& parts, const std::optional<Error>& error,
                    const Moment& moment, Step& step);
  void Dispatch(Choice choice, BucketPlan plan, const std::optional<WriteFence::Guard>& guard,
                const Moment& moment, Step& step);
  void Probe(const Moment& moment, Step& step);

  void Applied(const Flight& flight, const WriteAnswer& answer, const Moment& moment, Step& step);
  void Failed(const Flight& flight, WriteFailure failure, const Moment& moment, Step& step);
  void CountedElsewhere(const Flight& flight, const Moment& moment, Step& step);
  void NotSent(const Flight& flight, const WriteFailure& failure, const Moment& moment, Step& step);
  void LostToOthers(const Flight& flight, const Moment& moment, Step& step);
  void Settle(const WriteFence::Settlement& settled, const Moment& moment, Step& step);
  void LearnItem(const Item& item, const ImageRequest& asked, const Moment& moment, Step& step);
  void Learn(BucketImage image, const ImageRequest& asked, const Moment& moment);
  void FailPending(const Error& error, const Moment& moment, Step& step);
  void SetWake(const Moment& moment);

  ActorTerms& terms_;
  const BucketKey key_;
  SeenBucket seen_;
  PendingParts parts_;
  BucketFlights flights_;
  WritePace pace_;
  WriteGathering gathering_;
  bool refreshes_ = false;
  bool reading_ = false;
  ImageRequest read_{};         // of the read in flight
  bool needs_read_ = false;     // the read in flight is for parts that cannot do without
  bool image_is_read_ = false;  // not left by an own write
  bool recorded_ = false;       // a token, by the latest write
  Instant repaired_at_{INT64_MIN};
  Instant wake_ = kNoTime;
};

}  // namespace weir::dynamo
