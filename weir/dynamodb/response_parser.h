// Parses DynamoDB's responses.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/dynamodb/value.h"

namespace weir::dynamo {

/// Each function parses one kind of response. All but ReadText return kUnknown, with a message of
/// one line, for a body of another kind: no JSON, a field of another shape, an attribute of no
/// known type. Fields that are not needed are ignored.

/// Returns the item in this field ("Attributes", "Item"); nothing if the field is absent.
[[nodiscard]] Result<std::optional<Item>> ReadItem(std::string_view body, std::string_view field);

struct QueryResponse {
  std::vector<Item> items;
  std::optional<Item> last_key;  ///< there may be more items after this key
};
[[nodiscard]] Result<QueryResponse> ReadQuery(std::string_view body);

struct BatchGetResponse {
  std::vector<Item> items;             ///< the items of all tables, in no order
  std::vector<Item> unprocessed_keys;  ///< to be requested again
};
[[nodiscard]] Result<BatchGetResponse> ReadBatchGet(std::string_view body);

/// The puts and deletes that a BatchWriteItem did not execute.
struct BatchWriteResponse {
  std::vector<Item> unprocessed_puts;     ///< whole items
  std::vector<Item> unprocessed_deletes;  ///< keys
};
[[nodiscard]] Result<BatchWriteResponse> ReadBatchWrite(std::string_view body);

/// One action of a cancelled transaction.
struct CancellationReason {
  std::string code;          ///< "None", "ConditionalCheckFailed", "TransactionConflict", ...
  std::optional<Item> item;  ///< before the transaction, if ALL_OLD was requested
};
[[nodiscard]] Result<std::vector<CancellationReason>> ReadReasons(std::string_view body);

/// Returns a string in a response, by its path of names ("Table.TableStatus"); nothing if it is
/// absent or no string.
std::optional<std::string> ReadText(std::string_view body, std::string_view path);

}  // namespace weir::dynamo
