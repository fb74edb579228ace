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
#include "weir/base/mutex.h"
#include "weir/dynamodb/batch_backoff.h"
#include "weir/dynamodb/expression.h"
#include "weir/dynamodb/response_parser.h"
#include "weir/dynamodb/table_key.h"
#include "weir/dynamodb/table_layout.h"
#include "weir/runtime/scheduler.h"

namespace weir::dynamo {

/// One partition and, optionally, a range of the sort key.
struct QueryRequest {
  std::string index;  ///< a global index of the layout; empty: the table itself, read consistently
  std::string partition;
  std::string sort_prefix;
  std::string sort_from;   ///< with sort_prefix, which it begins with: not before this key
  std::string sort_below;  ///< without sort_prefix: before this key
  /// Reads only these attributes of each item; if there are none, whole items.
  std::vector<std::string> attributes{};
  bool forward = true;
  std::size_t limit = 1000;
  std::optional<Item> start_after;  ///< QueryAnswer::last_key of the previous page
};

/// One action of a transaction, or a single write.
struct Write {
  enum class Kind { kUpdate, kPut, kDelete, kCheck };
  Kind kind = Kind::kUpdate;
  TableKey key;           ///< of all but kPut
  Item item;              ///< of kPut
  Expression expression;  ///< the changes of kUpdate, and the condition of any kind
  /// The response contains the whole item after the update. (If a condition fails, it always
  /// contains the item as it was.)
  bool want_new = false;
};

struct WriteAnswer {
  std::optional<Item> item;  ///< if want_new is set
  /// An earlier attempt was throttled because of the writes on one key range of the table.
  bool key_range_throttled = false;
};

struct WriteFailure {
  FailureClass kind = FailureClass::kPermanent;
  Error error;
  bool maybe_applied = false;
  std::optional<Item> old_item;  ///< if a condition failed; nothing: there is no such item
  std::vector<CancellationReason> reasons;  ///< of a transaction, in the order of its actions
  bool key_range_throttled = false;         ///< as in WriteAnswer, the last attempt included

  /// Returns the code of the reason for an action; empty if there is none.
  std::string_view ReasonOf(std::size_t action) const;
};
struct Transaction {
  std::vector<Write> writes;
  std::string token;
};
using WriteDone = std::move_only_function<void(tl::expected<WriteAnswer, WriteFailure>)>;

/// Thread-safe. Client and scheduler must outlive it and every call, and it must outlive every
/// call. `done` is called as weir/base/done.h says. Reads and deletes are retried if their response
/// was lost; writes only if they are `repeatable`.
///
/// Keys that a busy table leaves undone in a batch are requested again after a pause
/// (batch_backoff.h). The batch fails with kUnavailable after ten pauses in a row without progress,
/// or if its deadline would pass before the next pause ends; with kCancelled if the scheduler drops
/// it.
class Table {
 public:
  /// `seed` is that of the random pauses; each process should have its own. `layout` has the names
  /// of the keys, and must outlive the table.
  Table(JsonClient& client, Scheduler& scheduler, std::string name, std::uint64_t seed,
        const TableLayout& layout);
  const std::string& name() const { return name_; }
  const TableLayout& layout() const { return layout_; }
  /// Returns the bucket time: that of the service or, before its first response, the time of the
  /// wall clock when the table was opened plus the time since then.
  UnixMillis Now() const { return client_.ServerNow().value_or(opened_.Now()); }
  /// Returns the service's time, if its latest responses agree with it (JsonClient::ConfirmedNow).
  std::optional<UnixMillis> ConfirmedNow() const { return client_.ConfirmedNow(); }

  void Get(const TableKey& key, Deadline deadline, Done<std::optional<Item>> done);
  /// Returns the items in the order of `keys`, of which there may be any number.
  void BatchGet(std::vector<TableKey> keys, Deadline deadline,
                Done<std::vector<std::optional<Item>>> done);
  /// Reads one page.
  void Query(const QueryRequest& request, Deadline deadline, Done<QueryAnswer> done);
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
  /// The same for callers that do not need the writes at a certain time: if only other transactions
  /// on the items, or a lack of capacity, were in the way, it is sent again after pauses like a
  /// batch's, at most ten times. Reports the result of the last try.
  void TransactPatiently(const std::vector<Write>& writes, std::string_view token,
                         Deadline deadline, WriteDone done);
  /// The same for writes that contain a time. `make` is called before each try, the first included,
  /// on the thread of the call or of the scheduler. A try ends `longest_try` after it was made,
  /// even if it still waits for a connection or is being retried by the client; so it is hardly
  /// ever written later. A try that ended without a result is made again, although it may have been
  /// written: then the conditions of the new writes must fail. Each try must have a token of its
  /// own.
  using MakeTransaction = std::move_only_function<Transaction()>;
  void TransactPatiently(MakeTransaction make, nanoseconds longest_try, Deadline deadline,
                         WriteDone done);
  /// Deletes any number of items; not atomic.
  void DeleteAll(std::vector<TableKey> keys, Deadline deadline, Done<void> done);

  /// Calls an operation on the table as a whole ("DescribeTable"), or any other. Returns the body
  /// of the response.
  void Call(std::string operation, std::string body, Deadline deadline, Done<std::string> done);
  /// The same for callers that need AWS's code of a failure.
  void CallForCode(std::string operation, std::string body, Deadline deadline, JsonDone done);

 private:
  struct Retries;
  struct Transacting;

  // Returns when to send again; nothing if there are no pauses left, or not enough time.
  std::optional<Instant> NextTry(BatchBackoff& pace) WEIR_EXCLUDES(mutex_);
  std::string WriteBody(const Write& write) const;
  std::string QueryBody(const QueryRequest& request) const;
  std::string TransactionBody(const std::vector<Write>& writes, std::string_view token) const;
  void SendTransaction(std::string body, Deadline deadline, WriteDone done);

  JsonClient& client_;
  const BucketTime opened_;
  Scheduler& scheduler_;
  const std::string name_;
  const TableLayout& layout_;
  Mutex mutex_;
  Rng rng_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::dynamo
