// Reads the stream of a table without I/O, together with other processes: results go in; requests,
// batches of records and the next wake-up come out. Mechanism: docs/design/streams.md.
//
//   ShardListing: which shards exist -----> LeaseKeeper: which of them this process reads
//                                                |  ^
//                                       taken, lost |  | positions
//                                                v  |
//                        ShardReading (one for each): iterator, pages, batches, gaps
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weir/dynamodb/streams/consumer_step.h"
#include "weir/dynamodb/streams/lease_keeper.h"
#include "weir/dynamodb/streams/shard_listing.h"
#include "weir/dynamodb/streams/shard_reading.h"

namespace weir::dynamo {

/// Delivers each record of the stream to one of the processes, the records of an item in their
/// order. A record is delivered again only if the process that had it lost its lease or ended
/// before its position was stored. Not thread-safe.
class StreamConsumer {
 public:
  using Response = ShardReading::Response;

  StreamConsumer(ConsumerOptions options, std::uint64_t seed);
  StreamConsumer(const StreamConsumer&) = delete;
  StreamConsumer& operator=(const StreamConsumer&) = delete;

  /// Performs the work that is due. The first call begins the reading.
  ConsumerStep OnWake(Moment at);
  /// Handle the results of requests. Unknown ids are ignored, and so are unknown batches below.
  ConsumerStep OnResponse(std::uint64_t id, const Response& response, Moment at);
  ConsumerStep OnLeases(std::uint64_t id, LeasesRead leases, Moment at);
  ConsumerStep OnLeaseWritten(std::uint64_t id, const LeaseOutcome& outcome, Moment at);
  /// The caller is done with a batch: its records are not delivered again once the position is
  /// stored.
  ConsumerStep OnCompleted(std::uint64_t batch, Moment at);
  /// The caller gives a batch up. The lease of the shard is released with the position before the
  /// batch, so that this or another process gets the records again.
  ConsumerStep OnAbandoned(std::uint64_t batch, Moment at);
  /// Ends the reading: no batch follows. The consumer is done when the batches in flight are
  /// completed and the leases are released, or have run out.
  ConsumerStep Drain(Moment at);

  std::size_t CountShards() const { return owned_.size(); }
  std::size_t CountDamagedLeases() const { return leases_.CountDamaged(); }

 private:
  struct Owned {
    ShardReading reading;
    std::uint64_t epoch = 0;
    std::uint64_t request = 0;  ///< in flight; 0: none
    std::uint64_t batch = 0;    ///< in flight; 0: none
  };
  using OwnedShards = std::map<std::string, Owned, std::less<>>;

  Status HandleResponse(std::uint64_t id, const Response& response, Moment at, ConsumerStep& step);
  Status HandleListing(const Response& response, Moment at, ConsumerStep& step);
  void ApplyChanges(LeaseChanges changes, ConsumerStep& step);
  /// Adds the actions that are due at `at` to the step, and returns it.
  ConsumerStep Finish(ConsumerStep step, Moment at);
  /// Releases the shard if it has ended, if another process should get it, or in a drain.
  void ReleaseIfDue(const std::string& shard, Owned& owned, Instant now);
  void MakeShardRequests(Moment at, ConsumerStep& step);
  void DeliverBatches(Instant now, ConsumerStep& step);
  std::optional<Instant> NextWake(Instant now) const;
  std::size_t CountInFlight() const;

  const ConsumerOptions options_;
  Rng rng_;
  bool is_draining_ = false;
  std::uint64_t next_id_ = 1;
  std::uint64_t listing_request_ = 0;
  ShardListing listing_;
  LeaseKeeper leases_;
  OwnedShards owned_;
};

}  // namespace weir::dynamo
