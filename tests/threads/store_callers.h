// Callers of a bucket store on many threads, and their results.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/threads/lossy_dynamo.h"
#include "weir/runtime/loop.h"
#include "weir/zae_table/bucket/bucket_store.h"

namespace weir::dynamo {

inline constexpr std::array kEntities = {"all", "u0", "u1", "u2", "scarce"};
inline constexpr std::size_t kBuckets = kEntities.size();
inline constexpr std::size_t kScarce = kBuckets - 1;
inline constexpr std::int64_t kScarceTokens = 40;
/// The maximum of one call, in millitokens of one bucket.
inline constexpr std::int64_t kMaxTaken = 3 * kMillitokens;

/// A table with the buckets of all entities, and its environment. Requests on it fail. (The buckets
/// are created before: the outcome of a lost creation is searched for ten seconds.) Destroy it
/// after each call has completed.
struct StoreWorld {
  explicit StoreWorld(std::uint64_t seed);
  ~StoreWorld() { Settle(); }

  /// Opens a store. Busy buckets are divided meanwhile: their items are set to few writes per
  /// second.
  std::unique_ptr<DynamoBucketStore> Open(std::uint64_t seed);
  /// Blocks until each request has its response and the loop has run all earlier tasks.
  void Settle();
  /// Returns the millitokens taken from this bucket, as another process reads them. No request
  /// fails from now on.
  std::int64_t Taken(const BucketKey& key);

  const SystemClock clock;
  Loop loop{clock};
  LossyDynamo dynamo;
  Table table;
};

/// The sums of one bucket, in millitokens.
struct Account {
  std::atomic<std::int64_t> taken =
      kMillitokens;                     ///< by callers' results, and by the bucket's creation
  std::atomic<std::int64_t> doubt = 0;  ///< may be taken in addition, or may be missing
};

/// Makes calls by number. All callers together make a mix: with one or two buckets, with and
/// without deadlines, kept when late. Thread-safe.
class StoreCallers {
 public:
  /// `calls` is the maximum number of calls. World and store must outlive it.
  StoreCallers(const StoreWorld& world, DynamoBucketStore& store, std::size_t calls)
      : world_(world), store_(store), results_(calls) {}

  /// Makes `count` calls, and corrections, reads and repairs in between. Blocks for each.
  void CallInTurn(std::size_t count);
  /// Makes `count` calls, each from the callback of the one before. Does not block.
  void CallFromCallbacks(std::size_t count);
  /// Blocks until this number of calls have a result or were dropped.
  void AwaitEnds(std::size_t count) const;

  /// Returns how often each call completed.
  const std::vector<std::atomic<int>>& results() const { return results_; }
  /// Returns the number of calls, corrections, reads and repairs whose `done` was destroyed without
  /// running.
  std::size_t dropped() const { return dropped_; }
  /// Returns the number of calls that completed at their deadline.
  std::size_t late() const { return late_; }
  std::size_t refused() const { return refused_; }
  const Account& account(std::size_t bucket) const { return accounts_[bucket]; }

 private:
  class Link;

  template <class T, class Start>
  Result<T> Wait(Start start);
  void NoteEnd();
  Deadline DeadlineOf(std::size_t number) const;
  void Ask(std::size_t number, const std::vector<Charge>& charges, Done<Decision> done);
  void Note(std::size_t number, const std::vector<Charge>& charges, const Result<Decision>& result);
  void Correct(std::size_t number, std::vector<Charge> charges, const Decision& decision);
  void Adjust(std::size_t number, const std::vector<Charge>& charges, Deadline deadline,
              Done<void> done);
  void ReadAndRepair(std::size_t number);

  const StoreWorld& world_;
  DynamoBucketStore& store_;
  std::array<Account, kBuckets> accounts_;
  std::vector<std::atomic<int>> results_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> ended_ = 0;
  std::atomic<std::size_t> dropped_ = 0;
  std::atomic<std::size_t> late_ = 0;
  std::atomic<std::size_t> refused_ = 0;
};

/// Returns the bucket of an entity. Its rate is so low that no token is refilled during a test.
TargetPtr TargetOf(std::size_t bucket);

}  // namespace weir::dynamo
