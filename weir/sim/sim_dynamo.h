// A DynamoDB that lives in a test: AWS's operations by their wire form (JSON protocol 1.0, API
// version 2012-08-10), atomic and immediate.
//
// Known operations: GetItem, BatchGetItem, Query, PutItem, UpdateItem, DeleteItem, BatchWriteItem,
// TransactWriteItems, TransactGetItems, CreateTable, DescribeTable, DeleteTable, and Update and
// Describe of TimeToLive and ContinuousBackups. A request field that is not simulated is refused by
// name, so that nothing is ignored in silence. Attributes of binary type are not simulated.
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

class DynamoTable;

/// Probabilities, drawn once for each request unless said otherwise. Each request draws the same
/// number of times whichever are set.
struct DynamoFaults {
  double throttle = 0;     ///< refused, not applied; of a transaction one item is the reason
  double conflict = 0;     ///< a single write: TransactionConflictException; a transaction: one of
                           ///< its items, drawn, is in another one
  double in_progress = 0;  ///< a repeated ClientRequestToken: TransactionInProgressException
  double unprocessed = 0;  ///< for each key or write of a batch: comes back unprocessed
  double stale_read = 0;   ///< for each item read without ConsistentRead: as before its last write,
                           ///< if that is not longer ago than longest_staleness
  nanoseconds longest_staleness{1'000'000'000};
  nanoseconds longest_index_lag{0};  ///< a write shows in the indexes after a wait up to this
  nanoseconds table_creation{0};     ///< a new table cannot be used before
  /// The ThrottlingReasons of a throttled request has this one, for example
  /// "TableWriteKeyRangeThroughputExceeded". Empty: there are none, as before 2025.
  std::string throttling_reason{};
  /// Write units a second that one partition key of the table, and one of an index, bears; 0: any
  /// number. What is unused stays for `burst` at most. AWS: 1,000, and five minutes.
  double range_writes = 0;
  nanoseconds burst{300'000'000'000};
  /// The response says what was done, and its x-amz-crc32 is not that of its body. Over 0 the other
  /// responses have the right one; otherwise none has any.
  double wrong_checksum = 0;
  bool sends_date = false;  ///< each response has a Date, by the wall clock, in whole seconds
};

/// What was asked and what it would have cost. A test asserts that its faults fired.
struct DynamoCounts {
  std::map<std::string, std::uint64_t, std::less<>> requests;  ///< by operation, however answered
  std::uint64_t throttled = 0;
  std::uint64_t throttled_ranges = 0;   ///< writes, for their partition key in the table
  std::uint64_t throttled_indexes = 0;  ///< writes, for their partition key in an index
  std::uint64_t wrong_checksums = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t in_progress = 0;
  std::uint64_t unprocessed = 0;
  std::uint64_t stale_reads = 0;
  std::uint64_t late_indexes = 0;       ///< queries of an index that lacked an entry
  std::uint64_t failed_conditions = 0;  ///< writes that a condition refused; they are billed
  double read_units = 0;
  double write_units = 0;

  std::uint64_t Requests(std::string_view operation) const;
  std::uint64_t AllRequests() const;
};

/// Not thread-safe. The clock must outlive it: request tokens and index lags follow its monotonic
/// time, ttl its wall time.
class SimDynamo final : public SimServer {
 public:
  SimDynamo(const Clock& clock, std::uint64_t seed);
  ~SimDynamo() override;
  SimDynamo(const SimDynamo&) = delete;
  SimDynamo& operator=(const SimDynamo&) = delete;

  HttpResponse Handle(const HttpRequest& request) override;

  /// Deletes, as AWS's background sweep does sooner or later, the items of every table with a ttl
  /// that is over, and less than five years over. Returns how many.
  std::size_t SweepTtl();
  /// Null if there is none of that name. For oracles: looking costs nothing and changes nothing.
  const DynamoTable* Table(std::string_view name) const;

  /// May be changed between requests.
  DynamoFaults faults;
  const DynamoCounts& counts() const;

 private:
  struct State;
  HttpResponse Answer(const HttpRequest& request);

  std::unique_ptr<State> state_;
};

}  // namespace weir::sim
