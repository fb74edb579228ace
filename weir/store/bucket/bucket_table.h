// Buckets in the memory of one process, shared by its threads. The backends in memory and in a file
// are built on it. Mechanism: docs/design/store.md.
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

#include "weir/base/api.h"
#include "weir/base/bucket_time.h"
#include "weir/base/result.h"
#include "weir/model/usage.h"
#include "weir/store/bucket/bucket_store.h"
#include "weir/store/bucket/charge.h"
#include "weir/store/usage/bucket_use.h"
#include "weir/telemetry/log.h"

namespace weir {

class AdjustDedup;
struct BucketEntry;
struct BucketState;
struct BucketStripe;
struct SweepTimes;
struct UseDrain;
class AheadReport;
class SpaceSweep;

struct BucketTableOptions {
  std::size_t stripes = 256;  ///< locks; a power of two
  /// Tracks changed buckets for DrainChanges.
  bool track_changes = false;
  /// A bucket is removed when it has been full for this long. Removing it then changes no decision
  /// if the clocks of callers differ by less than this.
  milliseconds idle_grace{60'000};
  /// A request that needs more buckets than this fails with kResourceExhausted; buckets that are
  /// not full are never dropped. A bucket with two limits takes about 400 bytes. Load ignores this
  /// limit.
  std::size_t max_buckets = 10'000'000;
  /// A request that finds no space for a bucket examines at most this many buckets, to find some
  /// that can be removed. This takes less than a millisecond, for which one stripe at a time is
  /// locked.
  std::size_t max_examined = 1000;
  /// The source of the bucket time T, for the owner's BucketStore::Now. If it is not set, the
  /// callers' `now` is the only time.
  std::optional<BucketTime> time{};
  Log* log = nullptr;  ///< for AheadReport's events; must outlive the table
  /// Counts the use of buckets (docs/design/usage.md). Requires track_changes or use_sink.
  bool count_use = false;
  /// Gets the use of buckets whose hour has ended or that are removed, under a lock of the table;
  /// it must not call the table. If it is not set, drains get the use.
  UseSink use_sink{};
};

/// Thread-safe. Each request is decided under the locks of all its buckets, which are taken in one
/// order. The contracts of the methods are in store/bucket/bucket_store.h.
class WEIR_API BucketTable {
 public:
  explicit BucketTable(BucketTableOptions options = {});
  ~BucketTable();

  /// Returns T; 1970 without BucketTableOptions::time.
  UnixMillis Now() const { return options_.time ? options_.time->Now() : UnixMillis{}; }

  /// During Acquire, Adjust and sweeps, a bucket whose time is far ahead of both `now` and T is set
  /// to T. It keeps its tokens, counts as changed, and is reported.
  [[nodiscard]] Result<Decision> Acquire(std::span<const Charge> charges, UnixMillis now);
  [[nodiscard]] Status Adjust(std::span<const Charge> charges, const AdjustTerms& terms,
                              UnixMillis now);
  /// Returns true, once, if since the last call a refused request or a look has changed a bucket, a
  /// request has set a bucket to T, or a sweep for space has changed or removed a bucket. A drain
  /// is then due.
  bool TakeDrainDue();
  [[nodiscard]] std::optional<BucketRecord> Read(const BucketKey& key) const;
  [[nodiscard]] Result<Page<BucketRecord>> List(const BucketFilter& filter,
                                                const PageRequest& page) const;
  std::size_t size() const;

  /// Removes all buckets of an entity.
  void EraseEntity(const std::string& entity);
  /// Calls `visitor` with the use, as far as it is not in snapshots yet, of each bucket that the
  /// filter selects, under a lock of the table. `until` and `from` are ignored.
  void VisitUse(const UsageFilter& filter, const UseSink& visitor) const;
  /// Passes the use of the buckets that the filter selects, including the open hour, to the sink.
  /// REQUIRES: BucketTableOptions::use_sink.
  void ReportUse(const UsageFilter& filter);
  /// Ends the hour of each bucket of an entity, so that the next drain gets its use.
  void EndHours(const std::string& entity);

  /// Removes buckets that have been full since before now - idle_grace. (Requests that take tokens
  /// sweep a few buckets each, so a table in use stays bounded without this.) Returns the earliest
  /// `now` at which another bucket can be removed; nothing if the table is empty.
  std::optional<UnixMillis> SweepIdle(UnixMillis now);

  enum class Loaded { kAsKept, kAsChange };
  /// Adds a bucket as it was stored (kAsKept), or as a change that the next drain reports
  /// (kAsChange). For opening a file. REQUIRES: the table does not have the bucket.
  void Load(BucketRecord record, Loaded loaded = Loaded::kAsKept, BucketUse use = {});
  /// Calls `read` with the state of a bucket, or null, under a lock of the table.
  void ReadState(const BucketKey& key, const std::function<void(const BucketState*)>& read) const;

  /// `state` is null for a bucket that was removed. `mark` belongs to the sink: it is 0 at first,
  /// then keeps the sink's last value for this bucket.
  using ChangeSink =
      std::function<void(const BucketKey& key, const BucketState* state, std::uint32_t& mark)>;
  /// Calls the sink once for each bucket that changed since the last drain, with its present state.
  /// A removal is reported before a new bucket of the same key. An acquire that returned before the
  /// drain began is included with all its charges. Returns the number of calls. The sink runs under
  /// a lock and must not call the table. REQUIRES: track_changes; one drain at a time.
  std::size_t DrainChanges(const ChangeSink& sink);
  /// Like the overload above. In addition, `use` gets the hours of a bucket that have ended; then
  /// the change sink gets the state of the bucket, without these hours.
  std::size_t DrainChanges(const ChangeSink& sink, UseDrain use);

 private:
  struct WEIR_INTERNAL Found;
  class WEIR_INTERNAL Locks;

  std::size_t StripeOf(std::size_t hash) const;
  /// Returns `now`, or T if that is later: a caller may have read T before the machine was
  /// suspended.
  UnixMillis Latest(UnixMillis now) const { return std::max(now, Now()); }
  SweepTimes TimesOf(UnixMillis now) const;
  /// Returns the bucket of a charge, if it exists.
  Found Find(const Target& target) const;
  /// Judges the charges. If they are refused or a look, and StoreLimits changes a bucket, judges
  /// them again.
  void Decide(std::span<const Charge> charges, std::span<const Found> found, UnixMillis now,
              Decision& decision);
  /// Judges every limit of every charge.
  static void Judge(std::span<const Charge> charges, std::span<const Found> found, UnixMillis now,
                    Decision& decision);
  /// Stores the limits of a refused request, or of a look, in its buckets. Returns false if nothing
  /// changed.
  static bool StoreLimits(std::span<const Charge> charges, std::span<const Found> found,
                          UnixMillis now);
  /// One attempt, under the locks of all charged buckets. Fails with kResourceExhausted if there is
  /// no space for new buckets.
  Result<Decision> TryAcquire(std::span<const Charge> charges, UnixMillis now);
  Status TryAdjust(std::span<const Charge> charges, const AdjustTerms& terms, UnixMillis now);
  /// Fails with kResourceExhausted if there is no space for each bucket of the charges that does
  /// not exist, and one of these is charged nothing: a later debit of that bucket would be lost.
  [[nodiscard]] Status CheckSpaceForLooks(std::span<const Charge> charges,
                                          std::span<const Found> found) const;
  Error NoSpace(const BucketKey& key) const;
  /// Adds the number of buckets that FindOrCreate will create for these charges to size_. Fails
  /// with kResourceExhausted if that exceeds max_buckets.
  [[nodiscard]] Status Reserve(std::span<const Charge> charges, std::span<const Found> found);
  /// Returns the state of a charged bucket, and marks it as changed. Creates it if it does not
  /// exist.
  BucketState& FindOrCreate(Found& found, const TargetPtr& target, UnixMillis now);
  /// Counts the use of a charge that was made, if options_.count_use is set.
  void Count(const Found& found, const Charge& charge, UnixMillis now);
  /// Lets SpaceSweep examine up to max_examined buckets. Returns true if it removed some of them
  /// and there is space now.
  bool MakeSpace(std::size_t wanted, UnixMillis now);
  /// Sweeps a few entries of the stripe if TakeSweepDue returns true.
  void Tidy(BucketStripe& stripe, UnixMillis now, AheadReport& report);
  /// Sets the bucket's times to T if they are far ahead.
  void SetBackIfAhead(const Found& found, UnixMillis now, AheadReport& report);

  BucketTableOptions options_;
  std::vector<std::unique_ptr<BucketStripe>> stripes_;
  std::unique_ptr<AdjustDedup> adjust_ids_;
  std::atomic<std::size_t> size_ = 0;
  std::atomic<bool> drain_due_ = false;
  std::unique_ptr<SpaceSweep> space_sweep_;
};

}  // namespace weir
