// Buckets in the memory of one process, shared by its threads: the heart of the backends in memory
// and in a file. Mechanism: docs/design/store.md.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/store/bucket_store.h"
#include "weir/store/bucket_time.h"
#include "weir/store/charge.h"
#include "weir/telemetry/log.h"

namespace weir {

class AdjustDedup;
struct BucketEntry;
struct BucketState;
struct BucketStripe;
struct SweepTimes;
class AheadReport;

struct BucketTableOptions {
  std::size_t stripes = 256;  ///< locks; a power of two
  /// Keep a list of what changed, for DrainChanges. Off: changes are not tracked.
  bool track_changes = false;
  /// A bucket leaves when it has been full for this long: forgetting it then changes no decision,
  /// also where clocks differ by less than this.
  milliseconds idle_grace{60'000};
  /// A request that needs one more bucket is refused (kResourceExhausted); buckets that are not
  /// full are never dropped. A bucket with two limits takes about 400 bytes. Loading goes beyond.
  std::size_t max_buckets = 10'000'000;
  /// T, for the owner's BucketStore::Now. None: callers' `now` is all that is known.
  std::optional<BucketTime> time{};
  Log* log = nullptr;  ///< gets AheadReport's events; must outlive the table
};

/// Thread-safe. Every charge of a request is decided under the locks of all its buckets, taken in
/// one order. Contracts of the verbs: store/bucket_store.h.
class BucketTable {
 public:
  explicit BucketTable(BucketTableOptions options = {});
  ~BucketTable();

  /// T; 1970 without BucketTableOptions::time.
  UnixMillis Now() const { return options_.time ? options_.time->Now() : UnixMillis{}; }

  /// In Acquire, Adjust and sweeps, a bucket with a time far ahead of `now` and of T is set to T,
  /// keeps its tokens, counts as changed, and is reported.
  [[nodiscard]] Result<Decision> Acquire(std::span<const Charge> charges, UnixMillis now);
  [[nodiscard]] Status Adjust(std::span<const Charge> charges, AdjustId token, UnixMillis now);
  /// True once after refused requests that changed buckets, or after a bucket was set to T: a drain
  /// is due.
  bool TakeChangedByRefusal();
  [[nodiscard]] std::optional<BucketRecord> Read(const BucketKey& key) const;
  [[nodiscard]] Result<Page<BucketRecord>> List(const BucketFilter& filter,
                                                const PageRequest& page) const;
  std::size_t size() const;

  /// Removes the buckets of an entity.
  void EraseEntity(const std::string& entity);
  /// Removes buckets that have been full since before now - idle_grace. (Requests that take sweep a
  /// few at each call, so a table in use stays bounded by itself.) Returns the earliest `now` at
  /// which another one can leave; none if the table is empty.
  std::optional<UnixMillis> SweepIdle(UnixMillis now);

  /// Puts a bucket in place, as it was kept or as a change, which the next drain has. For opening a
  /// file.
  enum class Loaded { kAsKept, kAsChange };
  void Load(BucketRecord record, Loaded loaded = Loaded::kAsKept);

  /// Gives the sink each bucket that changed since the last drain, once, in its present state;
  /// `state` is null for one that was removed, and a removal comes before the bucket's return.
  /// An acquire that returned before the drain began is in it with all its charges. `mark` is the
  /// sink's own to set: 0 at first, then as it was left for this bucket. The sink must not call
  /// back. REQUIRES: track_changes; one drain at a time.
  using ChangeSink =
      std::function<void(const BucketKey& key, const BucketState* state, std::uint32_t& mark)>;
  std::size_t DrainChanges(const ChangeSink& sink);

 private:
  struct Found;
  class Locks;

  std::size_t StripeOf(std::size_t hash) const;
  /// `now`, or T if that is later: a caller may have read T before a suspension.
  UnixMillis Latest(UnixMillis now) const { return std::max(now, Now()); }
  SweepTimes TimesOf(UnixMillis now) const;
  /// The bucket of a charge, if there is one.
  Found Find(const Target& target) const;
  /// Judges the charges; if they are refused, judges them again after StoreLimits.
  void Decide(std::span<const Charge> charges, std::span<const Found> found, UnixMillis now,
              Decision& decision);
  /// Judges every limit of every charge.
  static void Judge(std::span<const Charge> charges, std::span<const Found> found, UnixMillis now,
                    Decision& decision);
  /// Stores the limits of a refused request in its buckets; false: nothing changed.
  static bool StoreLimits(std::span<const Charge> charges, std::span<const Found> found,
                          UnixMillis now);
  Result<Decision> TryAcquire(std::span<const Charge> charges, UnixMillis now);
  Status TryAdjust(std::span<const Charge> charges, AdjustId token, UnixMillis now);
  /// Counts `found` that changes and is not there as buckets, which Store then adds.
  [[nodiscard]] Status Reserve(std::span<const Charge> charges, std::span<const Found> found);
  BucketState& Store(Found& found, const TargetPtr& target, UnixMillis now);
  /// Sweeps the whole table, at most once in a second; true if there is space afterwards.
  bool MakeSpace(UnixMillis now);
  /// Sweeps a little now and then.
  void Tidy(BucketStripe& stripe, UnixMillis now, AheadReport& report);
  void SetBackIfAhead(const Found& found, UnixMillis now, AheadReport& report);

  BucketTableOptions options_;
  std::vector<std::unique_ptr<BucketStripe>> stripes_;
  std::unique_ptr<AdjustDedup> tokens_;
  std::atomic<std::size_t> size_ = 0;
  std::atomic<bool> changed_by_refusal_ = false;
  std::atomic<std::int64_t> swept_at_ = 0;  // when the whole table was last swept for space
};

}  // namespace weir
