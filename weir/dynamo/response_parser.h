// DynamoDB's answers, read from their JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/dynamo/value.h"

namespace weir::dynamo {

/// Each reads one kind of answer. kDataLoss, in one line, for what is none: not JSON, a field of
/// another shape, an attribute of no known kind. Fields that are not asked for are passed over.

/// The item in that field ("Attributes", "Item"); nothing where it is absent.
[[nodiscard]] Result<std::optional<Item>> ReadItem(std::string_view body, std::string_view field);

struct QueryAnswer {
  std::vector<Item> items;
  std::optional<Item> last_key;  ///< there may be more after it
};
[[nodiscard]] Result<QueryAnswer> ReadQuery(std::string_view body);

struct BatchGetAnswer {
  std::vector<Item> items;             ///< of all tables, in no order
  std::vector<Item> unprocessed_keys;  ///< to be asked for again
};
[[nodiscard]] Result<BatchGetAnswer> ReadBatchGet(std::string_view body);

/// Keys of the puts and deletes that were left undone by a BatchWriteItem.
struct BatchWriteAnswer {
  std::vector<Item> unprocessed_puts;     ///< whole items
  std::vector<Item> unprocessed_deletes;  ///< keys
};
[[nodiscard]] Result<BatchWriteAnswer> ReadBatchWrite(std::string_view body);

/// One action of a cancelled transaction.
struct CancellationReason {
  std::string code;          ///< "None", "ConditionalCheckFailed", "TransactionConflict", ...
  std::optional<Item> item;  ///< as it was, where ALL_OLD was asked for
};
[[nodiscard]] Result<std::vector<CancellationReason>> ReadReasons(std::string_view body);

/// A field somewhere in an answer, by its path of names ("Table.TableStatus"); nothing where it is
/// absent or no string.
std::optional<std::string> ReadText(std::string_view body, std::string_view path);

}  // namespace weir::dynamo
