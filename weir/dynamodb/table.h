// The operations on one table, with types.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "weir/aws/json_client.h"
#include "weir/base/bucket_time.h"
#include "weir/base/done.h"
#include "weir/dynamodb/table_access.h"
#include "weir/dynamodb/table_requests.h"
#include "weir/runtime/scheduler.h"

namespace weir::dynamo {

/// Thread-safe. Client and scheduler must outlive the table and every call, and the table must
/// outlive every call. `done` is called as weir/base/done.h says. Reads, transactions and DeleteAll
/// are retried if their response was lost; Apply only if the write is `repeatable`.
///
/// Keys that a busy table leaves undone in a batch are requested again after a pause
/// (batch_backoff.h). The batch fails with kUnavailable after ten pauses in a row without progress,
/// or if its deadline would pass before the next pause ends. It fails with kCancelled if the
/// scheduler drops it.
class Table {
 public:
  /// `seed` seeds the random pauses; each process should have its own. `layout` has the names
  /// of the keys, and must outlive the table.
  Table(JsonClient& client, Scheduler& scheduler, std::string name, std::uint64_t seed,
        const TableLayout& layout);
  const std::string& name() const { return access_.name; }
  const TableLayout& layout() const { return access_.layout; }
  /// Returns the bucket time: the service's time or, before its first response, the wall time at
  /// which the table was opened plus the time since then.
  UnixMillis Now() const { return access_.client.ServerNow().value_or(opened_.Now()); }
  /// Returns the service's time, if its latest responses agree with it (JsonClient::ConfirmedNow).
  std::optional<UnixMillis> ConfirmedNow() const { return access_.client.ConfirmedNow(); }

  void Get(const TableKey& key, Deadline deadline, Done<std::optional<Item>> done);
  /// Returns the items in the order of `keys`, of which there may be any number.
  void BatchGet(std::vector<TableKey> keys, Deadline deadline,
                Done<std::vector<std::optional<Item>>> done);
  /// Reads one page.
  void Query(const QueryRequest& request, Deadline deadline, Done<QueryResponse> done);
  /// Reads one page of all items.
  void Scan(const ScanRequest& request, Deadline deadline, Done<QueryResponse> done);
  /// Reads all pages. Returns kResourceExhausted if there are more than `most` items.
  void QueryAll(QueryRequest request, std::size_t most, Deadline deadline,
                Done<std::vector<Item>> done);

  /// `repeatable`: applying the write twice has the effect of applying it once, so it is retried if
  /// its response was lost.
  void Apply(const Write& write, bool repeatable, Deadline deadline, WriteDone done);
  /// Applies at most 100 actions on different items, all or none. `token` (1 to 36 characters)
  /// makes repetitions within ten minutes count once. It must not be reused for other actions.
  void Transact(const std::vector<Write>& writes, std::string_view token, Deadline deadline,
                WriteDone done);
  /// Like Transact, but for callers that do not need the writes at a certain time: if only other
  /// transactions on the items, or a lack of capacity, were in the way, the transaction is sent
  /// again after pauses like a batch's, at most ten times. Reports the result of the last try.
  void TransactPatiently(const std::vector<Write>& writes, std::string_view token,
                         Deadline deadline, WriteDone done);
  /// Like the overload above, but for writes that contain a time. `make` is called before each try,
  /// the first included, on the thread of the call or of the scheduler. A try ends `longest_try`
  /// after it was made, even if it still waits for a connection or is being retried by the client;
  /// so its writes are hardly ever applied later than that. A try that ended without a result is
  /// followed by another, although its writes may have been applied: in that case the conditions of
  /// the new writes must fail. Each try must have a token of its own.
  void TransactPatiently(MakeTransaction make, nanoseconds longest_try, Deadline deadline,
                         WriteDone done);
  /// Deletes any number of items; not atomic.
  void DeleteAll(std::vector<TableKey> keys, Deadline deadline, Done<void> done);

  /// Calls an operation on the table as a whole ("DescribeTable"), or any other. Returns the body
  /// of the response.
  void Call(std::string operation, std::string body, Deadline deadline, Done<std::string> done);
  /// Like Call, but for callers that need AWS's code of a failure.
  void CallForCode(std::string operation, std::string body, Deadline deadline, JsonDone done);

 private:
  TableAccess access_;
  const BucketTime opened_;
};

}  // namespace weir::dynamo
