// What a place that keeps shared buckets must do. The contract suite (store/contract.h) holds every
// implementation to this text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/done.h"
#include "weir/base/time.h"
#include "weir/bucket/bucket.h"
#include "weir/runtime/deadline.h"
#include "weir/store/charge.h"

namespace weir {

/// A meter that resolution does not name: of a limit that left, or of one that only requests name.
struct ExtraMeter {
  std::string name;
  Meter meter;
  UnixMillis time;  ///< up to when `meter` is refilled

  friend bool operator==(const ExtraMeter&, const ExtraMeter&) = default;
};

/// The meters of a bucket beside the configured ones. Mechanism: docs/design/store.md.
struct ExtraMeters {
  std::vector<ExtraMeter> meters;  ///< at most kMaxExtraMeters, each name once
  /// For meters that left before they were full, because others needed the space: when the latest
  /// one left, and when the last of them would have been full. Both 0: there are none.
  UnixMillis last_left{};
  UnixMillis left_full{};

  friend bool operator==(const ExtraMeters&, const ExtraMeters&) = default;
};
inline constexpr std::size_t kMaxExtraMeters = 20;

/// A bucket as it is stored: `names[i]` belongs to `bucket.meters[i]`, the configured limits.
struct BucketRecord {
  BucketKey key;
  std::vector<std::string> names;
  Bucket bucket;
  ExtraMeters extras{};

  friend bool operator==(const BucketRecord&, const BucketRecord&) = default;
};

/// Names one adjust for good: 128 random bits. An adjust that is repeated with its token within 10
/// minutes counts once, unless hundreds of thousands of others came between.
struct AdjustId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend auto operator<=>(const AdjustId&, const AdjustId&) = default;
};

/// A part of a listing. `cursor` is empty for the first page, else the `next` of the page before;
/// what is no cursor of this listing, and a limit of 0, are kInvalidArgument.
struct PageRequest {
  std::string cursor;
  std::size_t limit = 1000;  ///< at most so many items
};

template <class T>
struct Page {
  std::vector<T> items;
  std::string next;  ///< empty: this was the last page
  /// What is stored there and cannot be read, one line each that names it and says why; `items`
  /// does not contain it. A line may come again on the next page.
  std::vector<std::string> unreadable{};
};

struct BucketFilter {
  std::optional<std::string> entity;
  std::optional<std::string> resource;
};

/// Calls may come from any thread; the caller holds no lock. `charges` and `keys` are read during
/// the call only. `done` as weir/base/done.h says.
///
/// Errors of every verb: kInvalidArgument (the request), kUnavailable (the store cannot answer
/// now), kDeadlineExceeded (it did not answer in time; an acquire may have been charged: a store
/// that learns of that later returns the tokens if it can), kDataLoss.
class BucketStore {
 public:
  virtual ~BucketStore() = default;

  /// The bucket time of this store, which callers pass as `now`. It never goes backwards within a
  /// boot of the machine, and does not follow its wall clock (docs/design/time.md).
  virtual UnixMillis Now() const = 0;

  /// Takes every charge at `now`, or none. A bucket that does not exist is full. A look, a refused
  /// override, and a charge whose amounts are all 0, change nothing.
  ///
  /// A configured target stores its limits in its bucket, also if the request is refused: its wait
  /// is at the rates of these limits. The used tokens stay used. A configured limit of the bucket
  /// that the target lacks leaves, and keeps refilling; a limit that was away rejoins with the
  /// balance that it has by then. A limit that was never there is full.
  ///
  /// An override that names a configured limit is judged by its own capacity and the stored rate,
  /// and charged to the stored limit; any other name has the parameters of the last request that
  /// took from it. kFailedPrecondition if there is no space for such a name, because
  /// kMaxExtraMeters others are in debt. kResourceExhausted if there is none for one more bucket.
  virtual void Acquire(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
                       Done<Decision> done) = 0;

  /// As Acquire, for a caller that admits the request even if the answer is kDeadlineExceeded: the
  /// tokens then stay taken.
  virtual void AcquireAndKeep(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
                              Done<Decision> done) {
    Acquire(charges, now, deadline, std::move(done));
  }

  /// Adds what was really used (positive; may leave debt) or gives back (negative; stops at the
  /// capacity), all charges or none. Counts once for each token. A bucket keeps the parameters it
  /// has; limits that left it are adjusted too. kOutOfRange, and nothing changes, if debt would
  /// pass kMaxDebt: the token is then not used up. kResourceExhausted as for Acquire.
  virtual void Adjust(std::span<const Charge> charges, AdjustId token, UnixMillis now,
                      Deadline deadline, Done<void> done) = 0;

  /// As Adjust, for a token that came from elsewhere and may be sent to several processes: it
  /// counts once among all that share the state. (Where only one process can write, so does
  /// Adjust.)
  virtual void AdjustShared(std::span<const Charge> charges, AdjustId token, UnixMillis now,
                            Deadline deadline, Done<void> done) {
    Adjust(charges, token, now, deadline, std::move(done));
  }

  /// The buckets as last written, in the order of `keys`; nothing for those that do not exist,
  /// which are full. Shard 0 of a bucket that the store divides means the whole of it.
  virtual void Read(std::span<const BucketKey> keys, Deadline deadline,
                    Done<std::vector<std::optional<BucketRecord>>> done) = 0;

  /// As Read, for the report of a refusal, which many requests may need at once: the records may be
  /// as old as what this store refuses from (the same second, unless configured otherwise), and
  /// calls that come together may share one read, and then its failure.
  virtual void ReadRecent(std::span<const BucketKey> keys, Deadline deadline,
                          Done<std::vector<std::optional<BucketRecord>>> done) {
    Read(keys, deadline, std::move(done));
  }

  /// The buckets that match, each once, in an order of the store's own. A bucket that comes or goes
  /// while pages are read may be missed.
  virtual void List(const BucketFilter& filter, const PageRequest& page, Deadline deadline,
                    Done<Page<BucketRecord>> done) = 0;
};

}  // namespace weir
