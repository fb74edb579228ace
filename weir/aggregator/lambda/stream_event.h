// The event that AWS Lambda passes to a function for records of a table's stream, and the response.
//
// Format: AWS Lambda Developer Guide, "Using AWS Lambda with Amazon DynamoDB" and "Implementing
// partial batch responses".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/dynamodb/streams/change_record.h"

namespace weir::dynamo {

struct StreamEvent {
  std::vector<ChangeRecord> records;  ///< in their order, up to the first that cannot be read
  /// Why the record after `records` cannot be read; nothing: all were read. That record has a
  /// sequence number.
  std::optional<Error> unreadable;
};

/// Returns kDataLoss if the text is no event of a table's stream, or if a record has no sequence
/// number, without which no position can be reported. Any text is allowed.
[[nodiscard]] Result<StreamEvent> ReadStreamEvent(std::string_view event);

/// Returns kFailedPrecondition, with both names, if a record names the stream of another table:
/// that table's usage must not be counted here, and its sequence numbers must not become
/// watermarks. Records that name no stream are accepted.
[[nodiscard]] Status CheckSource(std::string_view event, std::string_view table);

/// Returns the sequence number of the record at `index` as the event has it, with its leading
/// zeros; an empty text if it has none.
std::string SequenceNumberIn(std::string_view event, std::size_t index);

/// Returns the response: all records are applied, or, if `failed` has a value, those before
/// `failed`, a sequence number as the event has it.
std::string BatchResponse(const std::optional<std::string>& failed);

}  // namespace weir::dynamo
