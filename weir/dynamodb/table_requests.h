// The requests on a table: their values, and their bodies.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "weir/aws/json_client.h"
#include "weir/dynamodb/expression.h"
#include "weir/dynamodb/response_parser.h"
#include "weir/dynamodb/table_key.h"
#include "weir/dynamodb/table_layout.h"

namespace weir::dynamo {

/// One partition and, optionally, a range of the sort key.
struct QueryRequest {
  std::string index;  ///< a global index of the layout; empty: the table itself, read consistently
  std::string partition;
  std::string sort_prefix;
  std::string sort_from;   ///< only keys from this one on; must begin with sort_prefix (not empty)
  std::string sort_below;  ///< only keys before this one; not together with sort_prefix
  /// Reads only these attributes of each item; if there are none, whole items.
  std::vector<std::string> attributes{};
  bool forward = true;
  std::size_t limit = 1000;
  std::optional<Item> start_after;  ///< QueryResponse::last_key of the previous page
};

/// One page of all items of the table, read consistently. Items of one partition follow each other
/// in the order of their sort keys; partitions have no order.
struct ScanRequest {
  /// Returns only items whose sort key begins with this. The service reads, and bills, all items.
  std::string sort_prefix{};
  std::size_t limit = 1000;           ///< of the items that are read
  std::optional<Item> start_after{};  ///< QueryResponse::last_key of the previous page
};

/// One action of a transaction, or a single write.
struct Write {
  enum class Kind { kUpdate, kPut, kDelete, kCheck };
  Kind kind = Kind::kUpdate;
  TableKey key;           ///< the key of all writes but kPut
  Item item;              ///< the item of a kPut
  Expression expression;  ///< the changes of kUpdate, and the condition of any kind
  /// The response to a single write contains the whole item after the update. (If a condition
  /// fails, the response always contains the old item.)
  bool want_new = false;
};

struct WriteResponse {
  std::optional<Item> item;  ///< if want_new is set
  /// An earlier attempt was throttled because of the writes on one key range of the table.
  bool key_range_throttled = false;
};

struct WriteFailure {
  FailureClass kind = FailureClass::kPermanent;
  Error error;
  bool maybe_applied = false;
  std::optional<Item> old_item;  ///< of a single write whose condition failed; nothing: none
  /// The reasons of a cancelled transaction, in the order of its actions.
  std::vector<CancellationReason> reasons;
  bool key_range_throttled = false;  ///< as in WriteResponse, the last attempt included

  /// Returns the code of the reason for an action; empty if there is none.
  std::string_view ReasonOf(std::size_t action) const;
};

struct Transaction {
  std::vector<Write> writes;
  std::string token;
};
/// Makes the transaction of one try.
using MakeTransaction = std::move_only_function<Transaction()>;
using WriteDone = std::move_only_function<void(tl::expected<WriteResponse, WriteFailure>)>;

/// Bodies of requests on the table of this name and layout.
std::string GetBody(std::string_view table, const TableLayout& layout, const TableKey& key);
std::string QueryBody(std::string_view table, const TableLayout& layout,
                      const QueryRequest& request);
std::string ScanBody(std::string_view table, const TableLayout& layout, const ScanRequest& request);
std::string WriteBody(std::string_view table, const TableLayout& layout, const Write& write);
std::string TransactionBody(std::string_view table, const TableLayout& layout,
                            const Transaction& transaction);

/// Returns the operation of a single write: "UpdateItem".
std::string OperationOf(const Write& write);
/// Reads the response to a single write.
tl::expected<WriteResponse, WriteFailure> ReadWriteReply(tl::expected<JsonReply, AwsFailure> reply);
/// Reads the response to a transaction.
tl::expected<WriteResponse, WriteFailure> ReadTransactionReply(
    const tl::expected<JsonReply, AwsFailure>& reply);

}  // namespace weir::dynamo
