// The operations on one table that the backend needs, typed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "weir/aws/json_client.h"
#include "weir/base/done.h"
#include "weir/base/mutex.h"
#include "weir/dynamo/batch_backoff.h"
#include "weir/dynamo/expression.h"
#include "weir/dynamo/keys.h"
#include "weir/dynamo/response_parser.h"
#include "weir/dynamo/table_layout.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/bucket_time.h"

namespace weir::dynamo {

/// Partition and, where given, a beginning of the sort key.
struct QueryRequest {
  std::string index;  ///< of the layout's global ones; empty: the table itself, read consistently
  std::string partition;
  std::string sort_prefix;
  std::string sort_from;   ///< with sort_prefix: not before this, which begins with it
  std::string sort_below;  ///< without sort_prefix: before this
  /// Only these attributes of each item; none: whole items.
  std::vector<std::string> attributes{};
  bool forward = true;
  std::size_t limit = 1000;
  std::optional<Item> start_after;  ///< QueryAnswer::last_key of the page before
};

/// One action of a transaction, or a write of its own.
struct Write {
  enum class Kind { kUpdate, kPut, kDelete, kCheck };
  Kind kind = Kind::kUpdate;
  TableKey key;           ///< of all but kPut
  Item item;              ///< of kPut
  Expression expression;  ///< what kUpdate changes; of all kinds the condition
  /// The answer is the whole item after the update. (A condition that fails always brings the item
  /// as it was.)
  bool want_new = false;
};

struct WriteAnswer {
  std::optional<Item> item;  ///< where want_new asked for it
  /// An earlier attempt was throttled for the writes on one key range of the table.
  bool key_range_throttled = false;
};

struct WriteFailure {
  FailureClass kind = FailureClass::kPermanent;
  Error error;
  bool maybe_applied = false;
  std::optional<Item> old_item;             ///< of a condition that failed; nothing: no such item
  std::vector<CancellationReason> reasons;  ///< of a transaction, in the order of its actions
  bool key_range_throttled = false;         ///< as in WriteAnswer, the last attempt included

  /// The reason's code of an action; empty where there is none.
  std::string_view ReasonOf(std::size_t action) const;
};
struct Transaction {
  std::vector<Write> writes;
  std::string token;
};
using WriteDone = std::move_only_function<void(tl::expected<WriteAnswer, WriteFailure>)>;

/// Thread-safe. Client and scheduler must outlive it and every call, and it every call. `done` as
/// weir/base/done.h says. Reads and deletes are tried again where an answer was lost; writes only
/// where they are `repeatable`.
///
/// What a busy table leaves undone of a batch is asked for again after a pause (batch_backoff.h).
/// It ends with kUnavailable after ten pauses in a row without any progress, or where the deadline
/// would come before the next one is over. A batch that the scheduler drops ends with kCancelled.
class Table {
 public:
  /// `seed`: of the pauses; each process should have its own. `layout`: how keys are called; it
  /// must outlive the table.
  Table(JsonClient& client, Scheduler& scheduler, std::string name, std::uint64_t seed,
        const TableLayout& layout = OurLayout());
  const std::string& name() const { return name_; }
  const TableLayout& layout() const { return layout_; }
  /// Bucket time: the service's, and before its first response what the wall clock showed when the
  /// table was opened, and the time since then.
  UnixMillis Now() const { return client_.ServerNow().value_or(opened_.Now()); }
  /// The service's time, if its latest responses agree with it (JsonClient::ConfirmedNow).
  std::optional<UnixMillis> ConfirmedNow() const { return client_.ConfirmedNow(); }

  void Get(const TableKey& key, Deadline deadline, Done<std::optional<Item>> done);
  /// In the order of `keys`; any number of them.
  void BatchGet(std::vector<TableKey> keys, Deadline deadline,
                Done<std::vector<std::optional<Item>>> done);
  /// One page.
  void Query(const QueryRequest& request, Deadline deadline, Done<QueryAnswer> done);
  /// All pages, at most `most` items; kResourceExhausted beyond.
  void QueryAll(QueryRequest request, std::size_t most, Deadline deadline,
                Done<std::vector<Item>> done);

  /// `repeatable`: applied twice it does what it does once, so a lost answer is asked for again.
  void Apply(const Write& write, bool repeatable, Deadline deadline, WriteDone done);
  /// At most 100 actions on different items, all or none. `token` (1 to 36 characters) makes a
  /// repetition count once for ten minutes; never reuse it for other actions.
  void Transact(const std::vector<Write>& writes, std::string_view token, Deadline deadline,
                WriteDone done);
  /// The same for whom it does not matter when the writes are made: where other transactions on the
  /// items or want of capacity alone were in the way, it is sent again after pauses like a batch's,
  /// ten at the most. The answer is then that of the last one.
  void TransactPatiently(const std::vector<Write>& writes, std::string_view token,
                         Deadline deadline, WriteDone done);
  /// The same for writes that carry a time: `make` is called before each try, the first included,
  /// on the thread of the call or of the scheduler. A try ends `longest_try` after it was made,
  /// also if it still waits for a connection or is being repeated by the client, so it is hardly
  /// written later than that. One that ended without a result is made again, and may have been
  /// written: the writes must be refused by their conditions then. No two tries share a token.
  using MakeTransaction = std::move_only_function<Transaction()>;
  void TransactPatiently(MakeTransaction make, nanoseconds longest_try, Deadline deadline,
                         WriteDone done);
  /// Any number; not atomic.
  void DeleteAll(std::vector<TableKey> keys, Deadline deadline, Done<void> done);

  /// An operation on the table as a whole ("DescribeTable"), or any other: the answer's body.
  void Call(std::string operation, std::string body, Deadline deadline, Done<std::string> done);
  /// The same for those who act on AWS's code of a failure.
  void CallForCode(std::string operation, std::string body, Deadline deadline, JsonDone done);

 private:
  struct Retries;
  struct Transacting;

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
