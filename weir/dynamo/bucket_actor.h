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
#include <vector>

#include "weir/dynamo/batch_choice.h"
#include "weir/dynamo/table.h"
#include "weir/dynamo/write_fence.h"

namespace weir::dynamo {

/// What all actors of a process share.
struct ActorTerms {
  const Keys& keys;
  Quota writes;              ///< of items that are created
  milliseconds refusal_age;  ///< of an image that a refusal may rely on
  milliseconds repair_rest;  ///< between two writes that store the limits of refused takes
  std::uint64_t instance;    ///< of the fence: drawn when the backend was opened
  std::function<std::uint64_t()> draw;  ///< random, also in a process that was forked
  std::function<void(const FenceValue&, const BucketRequest&)> observe_plan{};
  PartId last_part = 0;  ///< the latest identifier of a part
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
    std::vector<PartOutcome> outcomes{};
    std::vector<Outgoing> sends{};
    bool read = false;
    bool divide = false;        ///< the item is written so often that its bucket is to be divided
    std::int64_t forfeits = 0;  ///< parts whose outcome will never be known
  };
  using WriteOutcome = tl::expected<WriteAnswer, WriteFailure>;

  /// `terms` must outlive it.
  BucketActor(ActorTerms& terms, BucketKey key);

  /// Whether a take would be charged, as far as is known: from the image less all that is pending.
  struct Opinion {
    enum class Kind { kMayPay, kRefused, kUnknown, kOutdated, kDivided };
    Kind kind = Kind::kUnknown;
    TakeVerdict verdict{};    ///< of kMayPay and kRefused
    bool is_missing = false;  ///< of kDivided
  };
  Opinion Judge(const Part& take, const Moment& moment) const;
  /// The take's limits are to be stored before it is refused, so that the wait is true.
  bool WantsRepair(const Part& take, const Moment& moment) const;
  /// kOutOfRange: the adjust would leave more debt than kMaxDebt. Nothing: its item is not known.
  std::optional<Status> CheckAdjust(const Part& adjust, const Moment& moment) const;
  /// An image that a refusal relied on gets old: it is read again in the background by the next
  /// Continue.
  bool IsAging(const Moment& moment) const;
  void Refresh() { refreshes_ = true; }

  /// REQUIRES: the actor is not full. Continue follows.
  void Accept(Part part);
  bool is_full() const { return parts_.size() >= kMostParts; }
  /// The call wants the take no longer. Unless it is gone, a write carries it, and its outcome will
  /// come.
  struct Withdrawal {
    bool is_gone = false;
    bool in_doubt = false;  ///< it may have been charged by a write of before
  };
  Withdrawal Withdraw(PartId take);
  /// The caller of the take has its answer. If a write that carries it is applied, it is given
  /// back. If it `stays` since the caller admits the request, it stays charged, and is debited if
  /// it is not charged now. False: a write carries it, and the outcome is unknown.
  bool Drop(PartId take, bool stays, const Moment& moment);
  /// Gives back what was taken for this part. Continue follows.
  void GiveBack(Part taken, const Moment& moment);
  bool HasAdjust(AdjustToken token) const { return parts_.FindAdjust(token) != 0; }

  void Continue(const Moment& moment, Step& step);
  void OnTime(const Moment& moment, Step& step);
  void OnRead(Result<BucketItems> items, const Moment& moment, Step& step);
  void OnWrite(std::uint64_t write, WriteOutcome outcome, const Moment& moment, Step& step);
  /// An image that was obtained elsewhere.
  void Learn(BucketImage image, const Moment& moment);
  void Forget() { seen_.Forget(); }

  const BucketKey& key() const { return key_; }
  const SeenBucket& seen() const { return seen_; }
  Instant wake() const { return wake_; }
  /// Nothing is pending, in flight or in doubt: it may be destroyed.
  bool is_idle() const { return parts_.is_empty() && flights_.empty() && fence_.unanswered() == 0; }

 private:
  static constexpr std::size_t kMostParts = 4096;
  static constexpr std::size_t kMostTakes = 256;

  /// A write that has no response yet.
  struct Flight {
    std::uint64_t id = 0;
    std::optional<WriteFence::WriteId> fenced{};
    std::vector<PartId> parts{};
    Instant sent{};
    UnixMillis planned_at{};  ///< rf in the image
    bool moves_rf = false;
    bool foreseen = false;  ///< planned from the image that an own write had left
    std::optional<Item> created{};
    bool records = false;  ///< its last write records a token
  };

  ChoiceTerms Terms() const;
  bool MaySend(const Moment& moment) const;
  Instant SupersedeAt(const Moment& moment) const;
  bool Advance(const Moment& moment, Step& step);
  void Read(Step& step);
  Instant LookAt(const Moment& moment) const;
  bool Send(Choice choice, const Moment& moment, Step& step);
  void Probe(const Moment& moment, Step& step);
  std::optional<WriteFence::Guard> Begin(const std::vector<PartId>& parts, const Moment& moment);
  Result<BucketPlan> Plan(const Choice& choice, const WriteFence::Guard* guard) const;

  void Applied(const Flight& flight, WriteAnswer answer, const Moment& moment, Step& step);
  void Failed(const Flight& flight, WriteFailure failure, const Moment& moment, Step& step);
  void CountedElsewhere(const Flight& flight, const Moment& moment, Step& step);
  void NotSent(const Flight& flight, const WriteFailure& failure, const Moment& moment, Step& step);
  void Lost(const Flight& flight, const Moment& moment, Step& step);
  void LostToOthers(const Flight& flight, const Moment& moment, Step& step);
  void LearnItem(const Item& item, const Flight& flight, const Moment& moment, Step& step);
  void Settle(const WriteFence::Settlement& settled, bool is_final, const Moment& moment,
              Step& step);
  void PartApplied(Part& part, const Moment& moment, Step& step);
  void PartNotApplied(Part& part, const Moment& moment);
  void PartUnknown(Part& part, bool is_final, Step& step);
  void Pause(milliseconds first, const Moment& moment);

  void Expire(const Moment& moment, Step& step);
  void Expired(PartId part, const Moment& moment, Step& step);
  void FailPending(const Error& error, const Moment& moment, Step& step);
  static void Report(const Part& part, PartOutcome outcome, Step& step);
  void EndLooks(const std::optional<Error>& error, Step& step);
  void End(PartId part, PartOutcome outcome, Step& step);
  void SetWake(const Moment& moment);

  ActorTerms& terms_;
  const BucketKey key_;
  SeenBucket seen_;
  PartQueue parts_;
  WriteFence fence_;
  std::vector<Flight> flights_;  // of the fence's round; or one that is not fenced
  std::uint64_t last_flight_ = 0;
  bool refreshes_ = false;
  bool reading_ = false;
  bool needs_read_ = false;     // the read in flight is for parts that cannot do without
  bool image_is_read_ = false;  // not left by an own write
  int failed_writes_ = 0;       // on their conditions, since the last that was applied
  int lost_ = 0;                // of them, to other processes
  std::size_t most_takes_ = kMostTakes;
  int pauses_ = 0;
  Instant pause_until_{INT64_MIN};
  std::optional<Instant> doubt_since_;
  std::optional<Error> last_error_;  // of the latest request, since the last write that was applied
  Instant repaired_at_{INT64_MIN};
  Instant wake_ = kNoTime;
};

}  // namespace weir::dynamo
