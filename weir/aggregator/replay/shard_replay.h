// Reads part of a shard of the stream again, and counts the changes that are not counted.
//
//   lease of the table --> lease of the shard: was the part read? --> pages --> ShardQueue --> end
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "weir/aggregator/daemon/aggregate_daemon.h"
#include "weir/aggregator/replay/replay_range.h"

namespace weir::dynamo {

struct ReplayOptions {
  AggregatorOptions aggregator;
  LeaseOptions lease;  ///< with the owner of the daemons, the replay works next to them
  std::string stream_arn;
  ReplayRange range;
};

/// Applies the records of the range again, and changes no stored position. Each change counts once
/// (docs/design/aggregator.md): a replay repairs usage items that were deleted or put back from a
/// backup, and changes no others. It archives expired audit events again, as equal objects, and
/// stores the gaps of records that cannot be counted. Thread-safe. It may be destroyed once `ended`
/// was called.
class ShardReplay {
 public:
  /// Begins. `ended` is called once, on the scheduler's thread, when no request is in flight:
  /// * no error: all records of the range were applied;
  /// * the errors of CheckRange and CheckRead; kInvalidArgument also if the shard has no record
  ///   `from`; kNotFound also if the service removed the shard;
  /// * kFailedPrecondition: another owner holds the lease of the table;
  /// * kDataLoss: records from `from` on are no longer in the stream, or the shard's lease is
  ///   damaged;
  /// * kCancelled after Stop.
  /// `seed` determines random pauses. The parts must outlive the replay and the call of `ended`.
  ShardReplay(const DaemonParts& parts, ReplayOptions options, std::uint64_t seed,
              std::function<void(const Status&)> ended);
  ~ShardReplay();
  ShardReplay(const ShardReplay&) = delete;
  ShardReplay& operator=(const ShardReplay&) = delete;

  /// Ends the replay when no request is in flight.
  void Stop();
  AggregateStats stats() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace weir::dynamo
