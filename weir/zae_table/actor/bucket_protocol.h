// All calls and all bucket actors of one process: a protocol without I/O, locks or clocks.
// Mechanism: docs/design/actor.md.
//
//   Start, OnRead, OnWrite, OnShardsCreated, OnTime
//        |
//        v
//   one call or actor -----> outcomes_ ---> BucketCall::OnOutcome --> parts, withdrawals
//                               ^                                           |
//                               +------ BucketActor::Continue <--- due_ <---+  (ProcessAll)
//
// Every event runs until outcomes_ and due_ are empty; all requests and results that it causes are
// in its Step.
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

#include "weir/store/bucket/adjust_dedup.h"
#include "weir/zae_table/actor/bucket_call.h"
#include "weir/zae_table/actor/write_window.h"

namespace weir::dynamo {

/// Owns the actors of the buckets, and the calls until they end. Not thread-safe.
///
/// Every event adds work for the driver to its Step. The driver calls OnTime at wake().
class BucketProtocol final : private CallActors, private ShardView {
 public:
  struct Step {
    struct Send {
      BucketKey key;
      BucketActor::Outgoing write;
    };
    struct Completion {
      Done<Decision> done;
      Result<Decision> result;
    };
    /// The missing shards of a bucket are to be created.
    struct ShardRequest {
      BucketKey bucket;
      UnixMillis now;  ///< bucket time
    };
    /// A write has set back the `rf` of a bucket, which was ahead of bucket time by `ahead`.
    struct SetBack {
      BucketKey bucket;
      milliseconds ahead;
    };
    std::vector<Send> sends{};       ///< writes; each outcome is passed to OnWrite
    std::vector<BucketKey> reads{};  ///< read in one batch; each item is passed to OnRead
    std::vector<ShardRequest> shard_requests{};  ///< each result is passed to OnShardsCreated
    std::vector<BucketImage> divides{};          ///< images of buckets that should be divided
    std::vector<SetBack> set_back{};
    std::vector<Completion>
        completions{};  ///< results of calls; the callbacks run last, without a lock
  };

  /// While there are more than `capacity` actors, idle ones are destroyed, the least recently used
  /// one first.
  BucketProtocol(ActorTerms terms, std::size_t capacity)
      : terms_(std::move(terms)), capacity_(capacity) {}

  /// Begins a call. Its result is in Step::completions of this event or of a later one.
  void Start(CallRequest request, Done<Decision> done, const ProtocolTime& moment, Step& step);
  void OnRead(const BucketKey& key, Result<BucketItems> items, const ProtocolTime& moment,
              Step& step);
  void OnWrite(const BucketKey& key, std::uint64_t write, BucketActor::WriteOutcome outcome,
               const ProtocolTime& moment, Step& step);
  /// The missing shards of a bucket were created: it has this number of shards; 0: it does not
  /// exist.
  void OnShardsCreated(const BucketKey& bucket, const Result<std::uint32_t>& shards,
                       const ProtocolTime& moment, Step& step);
  void OnTime(const ProtocolTime& moment, Step& step);
  /// Returns when OnTime is due; nothing: no actor waits for a time.
  std::optional<Instant> wake() const;

  /// Adds an image that was obtained by other means than a read or write of the protocol.
  void Learn(BucketImage image, const ProtocolTime& moment);
  /// Drops the image of a bucket, or of all buckets of an entity.
  void Forget(const BucketKey& key);
  void ForgetEntity(std::string_view entity);
  /// Returns null if there is no actor. Valid until the next event.
  const SeenBucket* Find(const BucketKey& key) const;
  /// Returns the number of shards in the cached image; 0: no image.
  std::uint32_t ShardsOf(const BucketKey& key) const override;

  /// Returns true if no call is pending and all actors are idle. Takes time linear in the actors.
  bool is_idle() const;
  /// The number of parts whose outcome will never be known.
  std::int64_t forfeits() const { return forfeits_; }

 private:
  struct Entry {
    Entry(ActorTerms& terms, const BucketKey& key, std::uint64_t number)
        : actor(terms, key), serial(number) {}
    BucketActor actor;
    std::uint64_t serial;                               // ascending in the order of creation
    Instant wake = kNoTime;                             // its key in wakes_; kNoTime: not in it
    bool is_due = false;                                // it is in due_
    std::optional<std::list<Entry*>::iterator> idle{};  // its position in idle_
  };
  struct RunningCall {
    BucketCall call;
    Done<Decision> done;
    std::vector<BucketKey> incomplete{};  // buckets whose missing shards are not requested yet
  };

  // CallActors and ShardView.

  BucketActor& At(const BucketKey& key) override;
  BucketActor& Modify(const BucketKey& key) override;
  PartId Accept(Part part) override;
  void Refresh(const BucketKey& key) override;
  std::optional<Status> FindAdjustResult(const BucketKey& key, AdjustId adjust_id) override;
  bool MayCountAdjust(const BucketKey& key, AdjustId adjust_id) override;
  const ProtocolTime& moment() const override { return moment_; }
  milliseconds WaitAt(const BucketKey& shard, const Charge& charge,
                      std::uint32_t shards) const override;
  bool HasAdjust(const BucketKey& shard, AdjustId adjust_id) const override;

  /// Returns the entry of the bucket; creates it if there is none.
  Entry& EntryAt(const BucketKey& key);
  /// ProcessAll will call Continue of the actor.
  void MakeDue(Entry& entry);
  /// Moves the entry to the end of idle_, or removes it if its actor is not idle.
  void NoteUse(Entry& entry);
  void Evict();
  /// Passes outcomes to calls and continues the actors that these change, until neither is left.
  void ProcessAll(Step& step);
  /// Continues the next actor that waits for room in the window. Lowers `considered_left` by one
  /// for it and for each bucket that it counts again. Returns false if there is no room or no such
  /// actor, or `considered_left` is 0.
  bool AdmitNext(int& considered_left, Step& step);
  /// Adds the step of one actor to the step of the event.
  void MergeStep(Entry& entry, BucketActor::Step from, Step& step);
  /// Updates wakes_ after a change of the actor.
  void Schedule(Entry& entry);
  /// Acts on the result of the call's latest step: waits, routes the call again, or ends it.
  void ActOnNext(std::uint64_t id, BucketCall::Next next, Step& step);
  BucketCall::Next BeginAgain(RunningCall& running);
  /// Returns true if a refused call should try other shards.
  bool TriesAnother(RunningCall& running);
  Route RouteOf(const CallRequest& request, std::span<const ShardCount> counts);
  /// Requests the missing shards of the call's buckets, then begins the call again.
  void RequestShards(std::uint64_t id, std::vector<BucketKey> incomplete, Step& step);
  /// The call no longer waits for shards of this bucket.
  void EndShardWait(std::uint64_t id, const BucketKey& bucket, const Result<std::uint32_t>& shards,
                    Step& step);
  /// Remembers the id of an adjust that was counted or forfeited.
  void NoteAdjustId(const PartOutcome& outcome, const BucketKey& key);

  ActorTerms terms_;
  const std::size_t capacity_;
  ProtocolTime moment_{};  // the time of the event
  UnixMillis now_{};       // CallRequest::now of the request that is being routed
  absl::flat_hash_map<BucketKey, std::unique_ptr<Entry>, BucketKeyHash> actors_;
  absl::flat_hash_map<std::uint64_t, std::unique_ptr<RunningCall>> calls_;
  std::uint64_t last_call_ = 0;
  /// By bucket: the calls that wait for its missing shards. The first one requested them.
  absl::flat_hash_map<BucketKey, std::vector<std::uint64_t>, BucketKeyHash> calls_awaiting_shards_;
  std::uint64_t last_entry_ = 0;
  absl::btree_map<std::pair<Instant, std::uint64_t>, Entry*> wakes_;  // keyed by time and serial
  std::list<Entry*> idle_;   // entries that may be evicted, the least recently used one first
  std::vector<Entry*> due_;  // entries whose actors continue before the event ends
  WindowQueue<Entry> awaiting_window_;  // entries whose actors wait for room in the window
  std::deque<PartOutcome> outcomes_;    // outcomes that their calls have not processed
  AdjustDedup counted_;                 // adjusts that were applied
  AdjustDedup forfeited_;               // adjusts whose outcome will never be known
  std::int64_t forfeits_ = 0;
};

}  // namespace weir::dynamo
