// Collects Kinesis records into PutRecords requests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "weir/kinesis/wire/record.h"

namespace weir::kinesis {

struct CollectorOptions {
  /// The limits of the service for one request (Amazon Kinesis Data Streams, PutRecords).
  std::size_t max_count = 500;
  std::size_t max_bytes = std::size_t{5} << 20;  ///< data and partition keys
  /// A request with this many bytes for one shard leaves at once: a larger burst would only be
  /// throttled.
  std::size_t max_shard_bytes = std::size_t{256} << 10;
  /// How long a record waits for others to join its request. Short, since the record was counted in
  /// the rate of its shard when it came: records that wait longer leave in a burst.
  nanoseconds linger = milliseconds(20);
};

/// A state machine without I/O; not thread-safe. A request leaves before a record that would not
/// fit, when it is full or due, or on demand. Records leave in the order in which they came.
class Collector {
 public:
  using Request = std::vector<KinesisRecord>;

  explicit Collector(const CollectorOptions& options) : options_(options) {}

  /// Adds a record. Requests that leave because of this are appended to `out`. A record larger than
  /// max_bytes leaves alone.
  void Put(KinesisRecord record, Instant now, std::vector<Request>& out);
  /// Appends the request if it is due.
  void TakeDue(Instant now, std::vector<Request>& out);
  /// Appends the request if it has any record.
  void TakeAll(std::vector<Request>& out);
  /// Returns when the request is due; nothing if it has no record.
  std::optional<Instant> NextWake() const;

 private:
  bool IsFull() const;

  CollectorOptions options_;
  Request request_;
  std::size_t bytes_ = 0;
  // The bytes of each shard in request_, and the largest of these numbers.
  std::map<ShardId, std::size_t> shard_bytes_;
  std::size_t fullest_shard_ = 0;
  // Set if request_ is not empty.
  Instant due_;
};

}  // namespace weir::kinesis
