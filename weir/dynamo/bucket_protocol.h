// All calls and all buckets of one process: what is to be sent, and what is answered. Without I/O.
// Mechanism: docs/design/acquire.md.
#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_map.h>

#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/dynamo/bucket_call.h"
#include "weir/store/adjust_dedup.h"

namespace weir::dynamo {

/// Owns the actors of the buckets, and the calls until they are answered. Not thread-safe.
///
/// Every event adds to its step what the driver is to do. OnTime is due at `wake`.
class BucketProtocol final : private CallActors, private ShardView {
 public:
  struct Step {
    struct Send {
      BucketKey key;
      BucketActor::Outgoing write;
    };
    struct Answer {
      Done<Decision> done;
      Result<Decision> result;
    };
    /// Shards of the bucket are to be made, for OnCompleted.
    struct Completion {
      BucketKey bucket;
      UnixMillis now;
    };
    /// The time of a bucket was so far ahead, and was set back.
    struct SetBack {
      BucketKey bucket;
      milliseconds ahead;
    };
    std::vector<Send> sends{};       ///< each for OnWrite
    std::vector<BucketKey> reads{};  ///< in one batch; each for OnRead
    std::vector<Completion> completions{};
    std::vector<BucketImage> divides{};  ///< of buckets that are to be divided
    std::vector<SetBack> set_back{};
    std::vector<Answer> answers{};  ///< to be run under no lock, after all else is begun
  };

  /// Actors of idle buckets over `capacity` are forgotten.
  BucketProtocol(ActorTerms terms, std::size_t capacity)
      : terms_(std::move(terms)), capacity_(capacity) {}

  void Start(CallRequest request, Done<Decision> done, const Moment& moment, Step& step);
  void OnRead(const BucketKey& key, Result<BucketItems> items, const Moment& moment, Step& step);
  void OnWrite(const BucketKey& key, std::uint64_t write, BucketActor::WriteOutcome outcome,
               const Moment& moment, Step& step);
  /// `is_there`: the bucket exists.
  void OnCompleted(const BucketKey& bucket, const Result<bool>& is_there, const Moment& moment,
                   Step& step);
  void OnTime(const Moment& moment, Step& step);
  std::optional<Instant> wake() const;

  /// Images that were obtained elsewhere, and images that no longer hold.
  void Learn(BucketImage image, const Moment& moment);
  void Forget(const BucketKey& key);
  void ForgetEntity(std::string_view entity);
  const SeenBucket* Find(const BucketKey& key) const;
  std::uint32_t ShardsOf(const BucketKey& key) const override;

  /// No call waits, and no outcome is in doubt.
  bool is_idle() const;
  std::int64_t forfeits() const { return forfeits_; }

 private:
  struct Entry {
    Entry(ActorTerms& terms, const BucketKey& key, std::uint64_t number)
        : actor(terms, key), serial(number) {}
    BucketActor actor;
    std::uint64_t serial;                               // in the order of creation
    Instant wake = kNoTime;                             // its place in wakes_
    bool is_due = false;                                // it is in due_
    std::optional<std::list<Entry*>::iterator> idle{};  // its place in idle_
  };
  struct Running {
    BucketCall call;
    Done<Decision> done;
    std::vector<BucketKey> incomplete{};  // buckets whose shards are to be made
  };

  BucketActor& At(const BucketKey& key) override;
  BucketActor& Change(const BucketKey& key) override;
  PartId Accept(Part part) override;
  void Refresh(const BucketKey& key) override;
  std::optional<Status> Counted(const BucketKey& key, AdjustId token) override;
  const Moment& moment() const override { return moment_; }
  milliseconds WaitAt(const BucketKey& shard, const Charge& charge,
                      std::uint32_t shards) const override;

  Entry& EntryAt(const BucketKey& key);
  void MakeDue(Entry& entry);
  void NoteUse(Entry& entry);
  void Evict();
  void Run(Step& step);
  void Take(Entry& entry, BucketActor::Step from, Step& step);
  void Schedule(Entry& entry);
  void Follow(std::uint64_t id, BucketCall::Next next, Step& step);
  BucketCall::Next BeginAgain(Running& running);
  bool TriesAnother(Running& running);
  Route RouteOf(const CallRequest& request, std::span<const BucketKey> gone);
  void Complete(std::uint64_t id, std::vector<BucketKey> incomplete, Step& step);
  void Completed(std::uint64_t id, const BucketKey& bucket, const Result<bool>& is_there,
                 Step& step);
  void NoteToken(const PartOutcome& outcome, const BucketKey& key);

  ActorTerms terms_;
  const std::size_t capacity_;
  Moment moment_{};   // of the event
  UnixMillis now_{};  // of the request that is routed
  absl::flat_hash_map<BucketKey, std::unique_ptr<Entry>, BucketKeyHash> actors_;
  absl::flat_hash_map<std::uint64_t, std::unique_ptr<Running>> calls_;
  std::uint64_t last_call_ = 0;
  /// Calls that wait for shards of a bucket; one of them began the work.
  absl::flat_hash_map<BucketKey, std::vector<std::uint64_t>, BucketKeyHash> completing_;
  std::uint64_t last_entry_ = 0;
  absl::btree_map<std::pair<Instant, std::uint64_t>, Entry*> wakes_;  // by time and serial
  std::list<Entry*> idle_;  // those that may be evicted, the one that was used first in front
  std::vector<Entry*> due_;
  std::deque<PartOutcome> outcomes_;
  /// Adjusts that are counted or pending, and those that are forfeited.
  AdjustDedup counted_;
  AdjustDedup forfeited_;
  std::int64_t forfeits_ = 0;
};

}  // namespace weir::dynamo
