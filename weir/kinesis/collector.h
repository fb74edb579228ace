// Kinesis records into PutRecords requests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "weir/kinesis/record.h"

namespace weir::kinesis {

struct CollectorOptions {
  /// What the service takes in one request (Amazon Kinesis Data Streams, PutRecords).
  std::size_t max_count = 500;
  std::size_t max_bytes = std::size_t{5} << 20;  ///< data and partition keys
  /// So much for one shard sends the request: a larger burst is only throttled.
  std::size_t max_shard_bytes = std::size_t{256} << 10;
  /// A record waits so long for others to go with it, and not longer: its shard's rate was counted
  /// when it came here, and what leaves later leaves in a heap.
  nanoseconds linger = milliseconds(20);
};

/// A value. A request leaves when the next record would not fit, when it is full or due, or on
/// demand. Records leave in the order in which they came.
class Collector {
 public:
  using Request = std::vector<KinesisRecord>;

  explicit Collector(const CollectorOptions& options) : options_(options) {}

  /// What it makes leave is appended to `out`. A record beyond max_bytes leaves alone.
  void Put(KinesisRecord record, Instant now, std::vector<Request>& out);
  void TakeDue(Instant now, std::vector<Request>& out);
  void TakeAll(std::vector<Request>& out);
  std::optional<Instant> Wake() const;

 private:
  bool IsFull() const;

  CollectorOptions options_;
  Request request_;
  std::size_t bytes_ = 0;
  std::map<ShardId, std::size_t> shard_bytes_;
  std::size_t fullest_shard_ = 0;
  Instant due_;
};

}  // namespace weir::kinesis
