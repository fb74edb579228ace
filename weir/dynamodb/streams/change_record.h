// One change of an item, as a table's stream reports it.
//
// Format: AWS, "DynamoDB Streams API reference", data type Record; a Lambda function receives the
// same fields in its event.
#pragma once

#include <cstdint>
#include <string>

#include "weir/base/time.h"
#include "weir/dynamodb/value.h"

namespace weir::dynamo {

enum class ChangeKind : std::uint8_t { kInsert, kModify, kRemove };

struct ChangeRecord {
  ChangeKind kind = ChangeKind::kModify;
  /// Decimal digits without leading zeros. Numbers of one item ascend with its changes, also across
  /// the shards of the stream. Engines use up to 40 digits.
  std::string sequence_number;
  UnixMillis created;  ///< ApproximateCreationDateTime; DynamoDB gives whole seconds
  Item keys;
  Item old_image;        ///< empty for kInsert
  Item new_image;        ///< empty for kRemove
  bool expired = false;  ///< the TTL service deleted the item
};

}  // namespace weir::dynamo
