// The shards that a reader reads, and the order in which it begins them: each after its parents.
//
// The stages of a shard:
//
//     parents ended            has an iterator
//   kWaits ------> kBegins --------------------> kReads --+
//                   |  ^                         |  ^  |  | next page
//                   |  |  iterator expired       |  +--|--+
//                   |  +-------------------------+     |
//                   |                            |     | at the end of an open shard,
//        not found  |     end of a closed shard, |     | without `follow`
//                   |     or not found           |     v
//                   +------------> kEnded <------+   kCaughtUp --closed meanwhile--> kReads
//
// A shard also gets to kEnded if its end was read although it is not known to be closed. If the
// next listing shows it as open, the response was wrong, and the shard is read on.
//
// If the reading begins at the end of the stream (kLatest), the shards of the first listing wait
// for no parents, and the closed ones among them are skipped.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weir/kinesis/reader/read_failures.h"
#include "weir/kinesis/wire/read_wire.h"

namespace weir::kinesis {

/// The reading of one shard.
struct ShardReading {
  enum class Stage {
    kWaits,     ///< its parents are not read to their ends
    kBegins,    ///< it needs an iterator
    kReads,     ///< it has an iterator
    kCaughtUp,  ///< open, and was read to its end once
    kEnded,     ///< was read to its end for good, does not exist, or is skipped
  };
  ReadShard shard;
  Stage stage = Stage::kWaits;
  Position position{};
  std::string iterator{};
  bool is_missing = false;  ///< the service has responded that the shard does not exist
  /// Its end was read, but neither children nor a listing show that it is closed.
  bool is_end_doubted = false;
  FailureSeries failures;
};

/// Not thread-safe. References to a ShardReading are valid as long as this object.
class ShardReadings {
 public:
  struct Options {
    Position from{};                ///< where to begin in the shards of the first listing
    std::optional<ShardId> only{};  ///< read this shard only, without its children
    FailureSeries failures;         ///< the series that each shard begins with
  };
  explicit ShardReadings(Options options) : options_(std::move(options)) {}

  /// Adds the shards of a listing that was read to its end, and notes which of the known shards are
  /// closed. kNotFound: an open shard is listed and cannot be read, or the shard `only` is not
  /// listed.
  Status OnListed(const std::vector<ReadShard>& shards, Instant now);
  /// Begins the shards whose parents are read to their ends.
  void BeginReady(Instant now);
  /// Schedules the next request for a shard, in this stage.
  void Schedule(ShardReading& reading, ShardReading::Stage stage, Instant due);
  /// Removes a shard from the schedule and returns it. REQUIRES: NextWake has come.
  ShardReading& TakeDue();
  /// Returns when the next request for a shard is due; nothing if none is.
  std::optional<Instant> NextWake() const;
  /// Ends a shard and adds its children. Returns true if a listing is needed, to know them or to
  /// know whether the shard is closed.
  bool End(ShardReading& reading, const std::vector<ReadShard>& children, Instant now);
  /// Returns the shards whose end was doubted. By these shards, the last ones that OnListed got,
  /// those that are closed or no longer listed remain in kEnded. The others are in kReads again or,
  /// without an iterator, in kBegins: the caller must schedule them.
  std::vector<ShardReading*> DecideDoubted(const std::vector<ReadShard>& shards);

  /// Returns the reading of a shard. REQUIRES: the shard was added.
  ShardReading& at(ShardId id) { return readings_.at(id); }
  /// Returns whether a listing was read to its end.
  bool is_listed() const { return is_listed_; }
  /// Returns whether all shards are in stage kEnded.
  bool HaveAllEnded() const { return ended_ == readings_.size(); }

 private:
  /// Returns kNotFound if an open shard is listed and cannot be read.
  Status CheckReadable(const ReadShard& shard) const;
  /// Adds a listed shard, or notes that it is closed.
  void Add(const ReadShard& shard, Instant now);
  /// Marks the known parents of a listed shard as closed.
  void CloseParentsOf(const ReadShard& child, Instant now);
  /// Notes that a shard takes no more records. If it was read to its end, it must be read once
  /// more.
  void MarkClosed(ShardReading& reading, Instant now);
  /// Returns whether a shard may begin.
  bool IsReady(const ShardReading& reading) const;
  bool HasChild(ShardId parent) const;

  Options options_;
  std::map<ShardId, ShardReading> readings_;
  // Shards in kBegins or kReads without a request in flight.
  std::set<std::pair<Instant, ShardId>> due_;
  std::size_t ended_ = 0;  ///< number of shards in kEnded
  bool is_listed_ = false;
};

}  // namespace weir::kinesis
