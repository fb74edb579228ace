// Callers of a bucket store on many threads, and the results that they got.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/threads/lossy_dynamo.h"
#include "weir/dynamo/bucket_store.h"
#include "weir/runtime/loop.h"

namespace weir::dynamo {

inline constexpr std::array kEntities = {"all", "u0", "u1", "u2", "scarce"};
inline constexpr std::size_t kBuckets = kEntities.size();
inline constexpr std::size_t kScarce = kBuckets - 1;
inline constexpr std::int64_t kScarceTokens = 40;
/// Of one call, in millitokens of one bucket.
inline constexpr std::int64_t kMostTaken = 3 * kMillitokens;

/// A table with the buckets of all entities, and what it needs; requests on it fail. (They are made
/// before: the outcome of a lost creation is sought for ten seconds.) Destroy it after each call
/// has its answer.
struct StoreWorld {
  explicit StoreWorld(std::uint64_t seed);
  ~StoreWorld() { Settle(); }

  /// Busy buckets are divided meanwhile: their items bear few writes.
  std::unique_ptr<DynamoBucketStore> Open(std::uint64_t seed);
  /// Returns when each request has its response and the loop has done what was due before.
  void Settle();
  /// Millitokens that are taken from this bucket, as another process reads it. No request fails
  /// from now on.
  std::int64_t Taken(const BucketKey& key);

  const SystemClock clock;
  Loop loop{clock};
  LossyDynamo dynamo;
  Table table;
};

/// Of one bucket, in millitokens.
struct Account {
  std::atomic<std::int64_t> taken =
      kMillitokens;                     ///< by the results of callers, and by the bucket's creator
  std::atomic<std::int64_t> doubt = 0;  ///< may be taken besides, or may be missing
};

/// Makes calls by number, so that all callers together make a mix: of one or two buckets, with and
/// without deadlines, kept when late. Thread-safe.
class StoreCallers {
 public:
  /// At most `calls` are made. Both must outlive it.
  StoreCallers(const StoreWorld& world, DynamoBucketStore& store, std::size_t calls)
      : world_(world), store_(store), answers_(calls) {}

  /// Blocks for each of `count` calls, and for corrections, reads and repairs in between.
  void CallInTurn(std::size_t count);
  /// Each of `count` calls is made by the callback of the one before. Does not block.
  void CallFromCallbacks(std::size_t count);
  /// Blocks until this number of calls have a result or were dropped.
  void AwaitEnds(std::size_t count) const;

  /// How often each call was answered.
  const std::vector<std::atomic<int>>& answers() const { return answers_; }
  /// Calls, corrections, reads and repairs whose `done` was destroyed unrun.
  std::size_t dropped() const { return dropped_; }
  /// Calls that were answered at their deadline.
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
  void Note(std::size_t number, const std::vector<Charge>& charges, const Result<Decision>& answer);
  void Correct(std::size_t number, std::vector<Charge> charges, const Decision& decision);
  void Adjust(std::size_t number, const std::vector<Charge>& charges, Deadline deadline,
              Done<void> done);
  void ReadAndRepair(std::size_t number);

  const StoreWorld& world_;
  DynamoBucketStore& store_;
  std::array<Account, kBuckets> accounts_;
  std::vector<std::atomic<int>> answers_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> ended_ = 0;
  std::atomic<std::size_t> dropped_ = 0;
  std::atomic<std::size_t> late_ = 0;
  std::atomic<std::size_t> refused_ = 0;
};

/// The bucket of an entity. So slow that no token comes back while a test runs.
TargetPtr TargetOf(std::size_t bucket);

}  // namespace weir::dynamo
