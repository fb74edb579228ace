// The interface of a store of shared buckets. The contract suite (store/testing/contract.h) tests
// every implementation against this text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/done.h"
#include "weir/base/page.h"
#include "weir/base/time.h"
#include "weir/bucket/bucket.h"
#include "weir/runtime/deadline.h"
#include "weir/store/bucket/charge.h"

namespace weir {

/// The meter of a limit that is not configured: it was configured earlier, or only requests name
/// it.
struct ExtraMeter {
  std::string name;
  Meter meter;
  UnixMillis time;  ///< the time to which `meter` is refilled

  friend bool operator==(const ExtraMeter&, const ExtraMeter&) = default;
};

/// The meters of a bucket for limits that are not configured. Mechanism: docs/design/store.md.
struct ExtraMeters {
  std::vector<ExtraMeter> meters;  ///< at most kMaxExtraMeters, each name once
  /// About meters that were removed before they were full because others needed the space: the time
  /// of the latest removal, and the time at which the last of these meters would be full. Both are
  /// 0 if there are none.
  UnixMillis last_left{};
  UnixMillis left_full{};

  friend bool operator==(const ExtraMeters&, const ExtraMeters&) = default;
};
inline constexpr std::size_t kMaxExtraMeters = 20;

/// A bucket as it is stored. `names[i]` is the name of the configured limit of `bucket.meters[i]`.
struct BucketRecord {
  BucketKey key;
  std::vector<std::string> names;
  Bucket bucket;
  ExtraMeters extras{};

  friend bool operator==(const BucketRecord&, const BucketRecord&) = default;
};

/// The id of one adjust: 128 random bits. An adjust that is repeated with its id within 10 minutes
/// counts once, unless hundreds of thousands of other adjusts were made in between.
struct AdjustId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend auto operator<=>(const AdjustId&, const AdjustId&) = default;
};

/// How an adjust counts.
struct AdjustTerms {
  AdjustTerms(AdjustId adjust_id) : id(adjust_id) {}  // NOLINT: usually, an id is enough

  AdjustId id;
  /// The id may be sent to several processes: the adjust counts once among all processes that share
  /// the state. (If only one process can write, the adjust counts once in any case.)
  bool is_shared = false;
  /// The limits of configured targets apply now: each bucket that is adjusted stores them, as in an
  /// acquire. (A store that learns from Charge::resolved_at that they are older than those of the
  /// bucket keeps those of the bucket.) Otherwise a bucket keeps its parameters.
  bool stores_limits = false;
  /// The adjust counts as if it was made at this bucket time or earlier, or not at all: it then
  /// fails with kDeadlineExceeded, and nothing is changed. (A store that writes each bucket by
  /// itself ensures this for each.)
  UnixMillis counts_by{INT64_MAX};
};

struct BucketFilter {
  std::optional<std::string> entity;
  std::optional<std::string> resource;
};

/// Returns whether an error of an adjust with this code, unless it is partial, says that nothing
/// was changed. After any other code the adjust may count or not.
inline bool IsDefinite(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kPermissionDenied:
    case Code::kResourceExhausted:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
    case Code::kUnimplemented:
    case Code::kUnauthenticated:
      return true;
    default:
      return false;
  }
}

/// A store of buckets. Calls may come from any thread; the caller must hold no lock. `charges` and
/// `keys` are read during the call only. `done` runs as described in weir/base/done.h.
///
/// Errors of every method: kInvalidArgument (the request is invalid), kUnavailable (the store
/// cannot process it now), kDeadlineExceeded (there was no result in time; an acquire may have been
/// charged: a store that learns this later returns the tokens if it can), kDataLoss.
class WEIR_API BucketStore {
 public:
  virtual ~BucketStore() = default;

  /// Returns the bucket time of this store, which callers pass as `now`. It does not go backwards
  /// while the machine runs, and does not follow the wall clock (docs/design/time.md).
  virtual UnixMillis Now() const = 0;

  /// Takes every charge at `now`, or none. A bucket that does not exist is full. A refused
  /// override changes nothing.
  ///
  /// A configured target stores its limits in its bucket, also if the request is refused: the
  /// returned wait is computed at the rates of these limits. A charge whose amounts are all 0
  /// stores its limits only if one of them has less than one token left, and the request is refused
  /// or a look (all amounts are 0): the caller of a look may take this for a refusal. Otherwise
  /// such a charge changes nothing. Used tokens stay used. A configured limit of the bucket that
  /// the target lacks is no longer configured, but its meter keeps refilling. When a target names
  /// the limit again, the limit has the balance of this meter. A limit that the bucket never had
  /// starts full; or with fewer tokens, until the meters that were removed early would be full
  /// (ExtraMeters).
  ///
  /// If an override names a configured limit, the override's capacity and the stored rate apply,
  /// and the stored limit is charged. Any other name has the parameters of the last request that
  /// took from it. Fails with kFailedPrecondition if the request takes from so many such names that
  /// these, together with the others that are in debt, exceed kMaxExtraMeters. Fails with
  /// kResourceExhausted if there is no space for another bucket, even if it is only looked at.
  virtual void Acquire(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
                       Done<Decision> done) = 0;

  /// Like Acquire, but for a caller that admits the request even after kDeadlineExceeded: the
  /// tokens then stay taken.
  virtual void AcquireAndKeep(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
                              Done<Decision> done) {
    Acquire(charges, now, deadline, std::move(done));
  }

  /// Takes the tokens that were used in addition to those taken (positive; may leave debt) or gives
  /// tokens back (negative; up to the capacity), for all charges or none. Calls with the same id
  /// count once; a repetition changes nothing. The bucket keeps its parameters unless
  /// `terms.stores_limits` is set; limits that are no longer configured are adjusted too. A charge
  /// whose amounts are all 0 changes nothing. Fails with kOutOfRange, without a change, if the debt
  /// would exceed kMaxDebt; the id may then be used again. Fails with kResourceExhausted as
  /// Acquire.
  ///
  /// A store that writes each bucket by itself may adjust only some of them. If the others never
  /// will be adjusted, the error has Error::is_partial. After any other error that is not definite
  /// (IsDefinite), a repetition with the same id may complete the adjust. So that an accepted
  /// adjust is not lost, such a store may still write it for a while after the deadline, and after
  /// the result; `terms.counts_by` limits this.
  virtual void Adjust(std::span<const Charge> charges, const AdjustTerms& terms, UnixMillis now,
                      Deadline deadline, Done<void> done) = 0;

  /// Returns the buckets as last written, in the order of `keys`; nothing for buckets that do not
  /// exist, which are full. If the store divides a bucket, shard 0 means the whole bucket.
  virtual void Read(std::span<const BucketKey> keys, Deadline deadline,
                    Done<std::vector<std::optional<BucketRecord>>> done) = 0;

  /// Like Read, but for the report of a refusal, which many requests may need at once. The records
  /// may be as old as those that this store uses to refuse requests (of the same second, unless
  /// configured otherwise). Concurrent calls may share one read, and its failure.
  virtual void ReadRecent(std::span<const BucketKey> keys, Deadline deadline,
                          Done<std::vector<std::optional<BucketRecord>>> done) {
    Read(keys, deadline, std::move(done));
  }

  /// Returns the buckets that match, each once, in an order that the store chooses. A bucket that
  /// is added or removed while pages are read may be missed.
  virtual void List(const BucketFilter& filter, const PageRequest& page, Deadline deadline,
                    Done<Page<BucketRecord>> done) = 0;
};

}  // namespace weir
