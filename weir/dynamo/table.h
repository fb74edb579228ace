// The operations on one table that the backend needs, typed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "weir/aws/json_client.h"
#include "weir/base/done.h"
#include "weir/dynamo/answer.h"
#include "weir/dynamo/expression.h"
#include "weir/dynamo/keys.h"

namespace weir::dynamo {

/// Partition and, where given, a beginning of the sort key.
struct QueryRequest {
  std::string index;  ///< "GSI1" to "GSI4"; empty: the table itself, read consistently
  std::string partition;
  std::string sort_prefix;
  std::string sort_from;  ///< with sort_prefix: not before this, which begins with it
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
};

struct WriteFailure {
  FailureClass kind = FailureClass::kPermanent;
  Error error;
  bool maybe_applied = false;
  std::optional<Item> old_item;             ///< of a condition that failed; nothing: no such item
  std::vector<CancellationReason> reasons;  ///< of a transaction, in the order of its actions

  /// The reason's code of an action; empty where there is none.
  std::string_view ReasonOf(std::size_t action) const;
};
using WriteDone = std::move_only_function<void(tl::expected<WriteAnswer, WriteFailure>)>;

/// Thread-safe. The client must outlive it and every call. `done` as weir/base/done.h says. Reads
/// and deletes are tried again where an answer was lost; writes only where they are `repeatable`.
class Table {
 public:
  Table(JsonClient& client, std::string name) : client_(client), name_(std::move(name)) {}
  const std::string& name() const { return name_; }

  void Get(const TableKey& key, Deadline deadline, Done<std::optional<Item>> done);
  /// In the order of `keys`; any number of them, unprocessed ones asked for again.
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
  /// Any number; not atomic; left-overs are tried again.
  void DeleteAll(std::vector<TableKey> keys, Deadline deadline, Done<void> done);

  /// An operation on the table as a whole ("DescribeTable"), or any other: the answer's body.
  void Call(std::string operation, std::string body, Deadline deadline, Done<std::string> done);
  /// The same for those who act on AWS's code of a failure.
  void CallForCode(std::string operation, std::string body, Deadline deadline, JsonDone done);

 private:
  struct BatchGetting;
  struct Deleting;

  void GetSome(const std::shared_ptr<BatchGetting>& state);
  void DeleteSome(const std::shared_ptr<Deleting>& state);

  JsonClient& client_;
  std::string name_;
};

}  // namespace weir::dynamo
