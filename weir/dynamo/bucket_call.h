// One Acquire or Adjust on buckets in DynamoDB: a protocol without I/O.
// Mechanism and proof: docs/design/acquire.md.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "weir/dynamo/bucket_image.h"
#include "weir/dynamo/bucket_plan.h"
#include "weir/dynamo/table.h"

namespace weir::dynamo {

/// What the driver is to do next. Where there is an answer there is nothing else but `learned` and
/// `give_back`.
struct CallStep {
  struct Send {
    std::size_t charge;         ///< to be handed to OnWrite with the outcome
    std::vector<Write> writes;  ///< one: an update of its own; two: a transaction
    bool repeatable;            ///< counts once, however often it is sent
    /// Others of its kind on this bucket would make it fail: one at a time. Where it had to wait
    /// it is not sent; OnTurn plans anew.
    bool in_turn;
    /// Stores parameters after a refusal and takes nothing.
    bool repairs = false;
  };

  std::vector<TableKey> reads;  ///< to be read in one call, for OnRead
  std::vector<Send> sends;      ///< concurrently
  /// Over 0: Resume after a random part of this duration; others write on the item.
  milliseconds pause{0};
  std::vector<BucketImage> learned;  ///< newest images, worth remembering
  std::vector<BucketKey> unknown;    ///< images that are no longer worth remembering
  /// As known when a write was throttled for the writes on their key range.
  std::vector<BucketImage> throttled;
  std::optional<Result<Decision>> answer;
  bool in_doubt = false;  ///< with any answer: more may have been charged than it says
  /// With an answer of kAborted: the buckets are divided into other shards than CallTerms::shards
  /// says; these have shards that are missing, or that have an older count of shards.
  std::vector<BucketKey> incomplete;
  /// Charges that were taken in a round that failed: to be given back by an Adjust of their own,
  /// before the answer is returned or, if there is none yet, before GaveBack.
  std::vector<Charge> give_back;
};

/// How late a call may be dated: one that takes longer goes on under a later time.
inline constexpr milliseconds kDatedAnewAfter{250};

/// The wait in the refusal of a call that only lost to others.
inline constexpr milliseconds kContendedWait{100};

/// The parameters of a call, in addition to its charges.
struct CallTerms {
  std::optional<AdjustToken> token;  ///< of an adjust
  UnixMillis now;
  /// For each charge, into how many shards its bucket is divided as far as is known: the charge is
  /// one shard's part. 0: the key names a bucket of its own.
  std::vector<std::uint32_t> shards;
  Quota writes = WriteQuota();  ///< of items that are created
  /// A refusal, or a look, from an image that was remembered before is not answered: it is read.
  Instant trusted_since{INT64_MIN};
  /// Parameters of a bucket for which this process has stored some since then stay as they are, if
  /// nothing is taken.
  Instant repaired_before{INT64_MAX};
  /// The call ends after this duration: a round that is lost to others is then the last.
  nanoseconds patience{INT64_MAX};
};

/// Events in, steps out; one at a time. Begin once; then every read, every send and every pause of
/// a step is answered once, in any order.
///
/// Acquire: all charges or none. Two that hold a part each of what both need would refuse each
/// other, so one that is refused half-way gives back and asks once more, in the order of the keys,
/// one charge after the other. An adjust (with a token) counts once for each bucket, so one that
/// failed half-way is completed by its repetition. An acquire that only lost to others, for
/// kMostRounds rounds or until its patience ends, is refused as contended. One that is refused
/// under configured limits that are not the stored ones stores them first, so that the wait is
/// true; if that fails it is refused all the same. kAborted, and no tokens are left taken, if a
/// shard is missing, or too small for its part because there are more of them.
class BucketCall {
 public:
  /// `images[i]` is what is remembered of the bucket of `charges[i]`, if anything.
  BucketCall(Keys keys, std::vector<Charge> charges, CallTerms terms);

  CallStep Begin(std::vector<std::optional<BucketImage>> images);
  /// The items of CallStep::reads, in their order.
  CallStep OnRead(Result<std::vector<std::optional<Item>>> items);
  CallStep OnWrite(std::size_t charge, tl::expected<WriteAnswer, WriteFailure> outcome);
  /// Instead of OnWrite, for a send in turn that waited; `newest` is what is remembered now.
  CallStep OnTurn(std::size_t charge, std::optional<BucketImage> newest);
  CallStep Resume();
  CallStep GaveBack();
  /// Before an event: how long ago the call began. What it asks is dated by the caller's time,
  /// until that is long ago (kDatedAnewAfter).
  void SetElapsed(nanoseconds elapsed);
  const BucketKey& KeyOf(std::size_t charge) const { return charges_[charge].target->key; }

 private:
  enum class State { kUnknown, kReading, kKnown, kAbsent, kSent, kDone };
  struct Part {
    State state = State::kUnknown;
    std::optional<BucketImage> image{};
    bool remembered = false;   // the image is of an earlier call
    bool from_memory = false;  // so was the image of the plan that is sent
    Owner owner{};             // while kAbsent
    bool divided = false;      // while kAbsent: another shard is there
    BucketPlan plan{};
    std::optional<Item> created{};  // while kSent
    bool repairs = false;           // while kSent: the write is a repair
    int failed_writes = 0;          // on their conditions, since one passed
  };

  CallStep Go();
  void GoOn(CallStep& step);
  void PlanAll(CallStep& step);
  Result<BucketPlan> PlanOf(std::size_t charge) const;
  bool IsTooOld(const Part& part) const;
  void GiveUp();
  bool Fits(std::size_t charge);
  void SendAll(CallStep& step);
  void SendRepairs(CallStep& step);
  void ForgetContended();
  milliseconds NextPause();
  void ReadUnknown(CallStep& step);
  CallStep Answer(CallStep step);
  Decision Told() const;
  std::vector<Charge> TakenInVain() const;

  void Learn(Part& part, const Item& item);
  void Note(Part& part, const tl::expected<WriteAnswer, WriteFailure>& outcome);
  void Applied(std::size_t charge, const WriteAnswer& answer);
  void NotApplied(std::size_t charge, WriteFailure failure);
  void Repaired(std::size_t charge, tl::expected<WriteAnswer, WriteFailure> outcome);
  void Cancelled(Part& part, const WriteFailure& failure);
  bool Waits() const;

  Keys keys_;
  std::vector<Charge> charges_;
  CallTerms terms_;
  UnixMillis now_;
  nanoseconds elapsed_{0};
  std::vector<Part> parts_;
  std::vector<std::size_t> order_;  // of the keys
  std::vector<int> repairs_left_;   // by charge
  std::vector<std::size_t> reading_;
  std::vector<BucketImage> learned_;
  std::vector<BucketKey> unknown_;
  std::vector<BucketImage> throttled_;
  std::vector<BucketKey> incomplete_;
  std::optional<Error> error_;
  bool refused_ = false;
  bool contended_ = false;
  bool in_order_ = false;
  bool conflict_ = false;
  bool in_doubt_ = false;
  bool lost_ = false;    // in this round
  bool rested_ = false;  // before this round
  int rounds_ = 0;       // that were lost
  int pauses_ = 0;
};

}  // namespace weir::dynamo
