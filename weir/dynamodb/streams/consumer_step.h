// The options of a StreamConsumer, and the actions that its driver must carry out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/dynamodb/streams/change_record.h"
#include "weir/dynamodb/streams/shard_lease.h"
#include "weir/dynamodb/streams/stream_wire.h"

namespace weir::dynamo {

struct ConsumerOptions {
  std::string stream_arn;
  /// Names this process in leases. No other process, and no earlier run of this one, may have the
  /// same name.
  std::string owner;
  /// Where to begin in the shards that exist when there are no leases yet: kTrimHorizon or kLatest.
  /// Later shards are read from their beginning.
  ShardPosition::At from = ShardPosition::At::kTrimHorizon;
  milliseconds term{30'000};  ///< the duration of a lease; it is renewed every term / 3
  nanoseconds checkpoint_interval = std::chrono::seconds(10);  ///< 0: after each batch
  nanoseconds discovery_interval = std::chrono::seconds(30);   ///< between two listings of shards
  /// The least time between two GetRecords for a shard; the service accepts five per second.
  nanoseconds least_gap = milliseconds(250);
  nanoseconds idle_gap = std::chrono::seconds(1);  ///< after a page without records
  nanoseconds first_backoff = milliseconds(200);
  nanoseconds longest_backoff = std::chrono::seconds(10);  ///< REQUIRES: >= first_backoff > 0
  std::size_t batch_records = kMaxPageRecords;             ///< 1 to kMaxPageRecords
  /// The maximum size of the JSON of a batch's records; a single larger record is a batch too.
  std::size_t batch_bytes = 1024 * 1024;
  /// Requests to the stream in flight. A response has at most 1 MB.
  std::size_t max_in_flight = 8;
  /// Shards that this process reads at a time. Each keeps at most one response in memory.
  std::size_t max_shards = 256;
};

/// A record that could not be parsed.
struct DamagedRecord {
  std::string sequence_number;
  std::optional<UnixMillis> created;  ///< the creation time; nothing if it cannot be read
  Error error;
};

/// Records may be missing: the service has trimmed the last position, or removed the whole shard,
/// before the records after that position were read.
struct StreamGap {
  std::string shard;
  ShardPosition last;               ///< all records before it are completed
  std::optional<UnixMillis> after;  ///< missing records were created at or after this time
  UnixMillis before;                ///< and before this time, when the gap was noticed
  std::string reason;               ///< AWS's code, or why the shard cannot be read
};

/// Records of one shard, in their order, or a gap between them. The next batch of the shard follows
/// when this one is completed. If the process ends first, a gap is delivered again. The gap of a
/// trimmed position is also delivered again if the process ends before it completes a later batch.
struct ChangeBatch {
  std::uint64_t id = 0;
  std::string shard;
  std::uint64_t epoch = 0;       ///< of the lease; no two processes get the same for a shard
  std::optional<StreamGap> gap;  ///< a batch with a gap has no records
  std::vector<ChangeRecord> records;
  std::vector<DamagedRecord> damaged;  ///< completed with the batch, and not read again
};

/// Another process has the shard now, and may deliver the records of the batch in flight again.
struct ShardLost {
  std::string shard;
  std::uint64_t epoch = 0;
};

/// The first of a series of failures that are retried. Throttles of requests to the stream are not
/// reported.
struct RequestsFailing {
  std::string shard;  ///< empty: requests for the listing or the leases fail
  Error error;
};

/// The lease of a shard cannot be read. The shard and its child shards are not read until the
/// lease's item is repaired or deleted. Reported once for each damage.
struct LeaseDamaged {
  DamagedLease lease;
};

using ConsumerEvent = std::variant<ShardLost, RequestsFailing, LeaseDamaged>;

/// The actions that follow an event.
struct ConsumerStep {
  /// A request to DynamoDB Streams. Sending it twice does no harm.
  struct Request {
    std::uint64_t id = 0;
    std::string operation;
    std::string body;
  };
  /// A request to the storage of the leases. It must be sent once.
  struct LeaseRequest {
    std::uint64_t id = 0;
    std::optional<LeaseWrite> write{};  ///< nothing: read all leases
  };
  std::vector<Request> requests{};
  std::vector<LeaseRequest> lease_requests{};
  std::vector<ChangeBatch> batches{};
  std::vector<ConsumerEvent> events{};
  /// Call OnWake at this time or earlier; nothing: only after another event.
  std::optional<Instant> wake{};
  bool done = false;  ///< no step follows
  /// Why the consumer ended; nothing after a drain, unless positions could not be stored
  /// (kUnavailable: records of the shards that the message names are delivered again).
  std::optional<Error> error{};
};

}  // namespace weir::dynamo
