// A simulated DynamoDB for tests: AWS's operations by their wire form (JSON protocol 1.0, API
// version 2012-08-10). Every operation is atomic and immediate.
//
// Operations: GetItem, BatchGetItem, Query, PutItem, UpdateItem, DeleteItem, BatchWriteItem,
// TransactWriteItems, TransactGetItems, CreateTable, DescribeTable, DeleteTable, and Update and
// Describe of TimeToLive and ContinuousBackups; of DynamoDB Streams: DescribeStream,
// GetShardIterator, GetRecords. A request with a field that is not simulated is refused with an
// error that names the field. Sets of binaries and keys of type B are not simulated.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "weir/base/time.h"
#include "weir/sim/sim_server.h"

namespace weir::sim {

class DynamoStream;
class DynamoTable;

/// Probabilities, drawn once for each request unless noted. Each request makes the same draws,
/// whatever their values.
struct DynamoFaults {
  double throttle = 0;  ///< the request is refused and not applied; a transaction names one of its
                        ///< items as the reason
  double conflict = 0;  ///< a single write gets TransactionConflictException; a transaction reports
                        ///< a conflict for one of its items, which is drawn
  double in_progress = 0;  ///< a repeated ClientRequestToken gets TransactionInProgressException
  double unprocessed = 0;  ///< for each key or write of a batch: it is returned as unprocessed
  double stale_read = 0;   ///< for each item read without ConsistentRead: returns its image before
                           ///< the last write, if that write is not older than longest_staleness
  nanoseconds longest_staleness{1'000'000'000};
  nanoseconds longest_index_lag{0};  ///< the indexes show a write after a drawn delay of up to this
  nanoseconds table_creation{0};     ///< a new table can be used after this time
  /// The ThrottlingReasons of a throttled request list this reason, for example
  /// "TableWriteKeyRangeThroughputExceeded". If it is empty, the response has none, as before 2025.
  std::string throttling_reason{};
  /// The write units per second of one partition key of the table, and of one of an index; 0:
  /// unlimited. Unused units are kept for at most `burst`. AWS: 1,000, and five minutes.
  double range_writes = 0;
  nanoseconds burst{300'000'000'000};
  /// The request is carried out, but the x-amz-crc32 of its response does not match the body. If
  /// this is above 0, all other responses have a correct x-amz-crc32; otherwise no response has
  /// one.
  double wrong_checksum = 0;
  milliseconds stream_retention{
      86'400'000};                ///< records and closed shards older than this are gone
  std::size_t stream_page = 100;  ///< the shards of one response
  double empty_stream_page = 0;   ///< a GetRecords returns no record, although the shard has some
  bool sends_date = false;  ///< each response has a Date header: the wall clock in whole seconds
};

/// Counts requests, faults and cost. Tests assert that their faults happened.
struct DynamoCounts {
  std::map<std::string, std::uint64_t, std::less<>> requests;  ///< keyed by operation
  std::uint64_t throttled = 0;
  std::uint64_t throttled_ranges = 0;   ///< writes, because of their partition key in the table
  std::uint64_t throttled_indexes = 0;  ///< writes, because of their partition key in an index
  std::uint64_t wrong_checksums = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t in_progress = 0;
  std::uint64_t unprocessed = 0;
  std::uint64_t stale_reads = 0;
  std::uint64_t late_indexes = 0;       ///< queries of an index that missed a recent entry
  std::uint64_t failed_conditions = 0;  ///< writes refused by their condition; they are billed
  std::uint64_t expired_iterators = 0;
  std::uint64_t limited_reads = 0;  ///< more than five GetRecords of a shard in a second
  double read_units = 0;
  double write_units = 0;

  std::uint64_t Requests(std::string_view operation) const;
  std::uint64_t AllRequests() const;
};

/// Not thread-safe. The clock must outlive it. Request tokens and index delays use the clock's
/// monotonic time, ttl uses its wall time.
class SimDynamo final : public SimServer {
 public:
  SimDynamo(const Clock& clock, std::uint64_t seed);
  ~SimDynamo() override;
  SimDynamo(const SimDynamo&) = delete;
  SimDynamo& operator=(const SimDynamo&) = delete;

  HttpResponse Handle(const HttpRequest& request) override;

  /// Deletes, as AWS's background sweep does at some time, the items of every table whose ttl has
  /// passed, by less than five years. Returns how many it deleted.
  std::size_t SweepTtl();
  /// Ends an open shard of a table's stream: it gets one child, or two. Shards are numbered from 0.
  /// REQUIRES: the table has a stream, and the stream has the shard.
  void ReplaceShard(std::string_view table, std::size_t shard, bool split);
  /// Returns null if no table of that name has a stream. For tests, as Table.
  const DynamoStream* Stream(std::string_view table) const;
  /// Returns null if no table has that name. For test oracles: reading it costs and changes
  /// nothing.
  const DynamoTable* Table(std::string_view name) const;

  /// May be changed between requests.
  DynamoFaults faults;
  const DynamoCounts& counts() const;

 private:
  struct State;
  // Runs one request and turns a Refusal into a response.
  HttpResponse Respond(const HttpRequest& request);

  std::unique_ptr<State> state_;
};

}  // namespace weir::sim
