// Parses the response of GetRecords.
//
// Format: AWS, "DynamoDB Streams API reference", GetRecords and Record. The members of a record's
// userIdentity are accepted in upper case (PrincipalId, the API) and in lower case (principalId,
// events of Lambda, dynoxide).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/dynamodb/streams/change_record.h"

namespace weir::dynamo {

/// One record of a page.
struct PageRecord {
  std::string sequence_number;  ///< normalized
  std::size_t bytes = 0;        ///< of its JSON
  /// ApproximateCreationDateTime, also of a damaged record; nothing if it cannot be read.
  std::optional<UnixMillis> created{};
  /// kDataLoss if the record cannot be parsed; the message names the field and the number.
  Result<ChangeRecord> change;
};

struct RecordPage {
  /// In the order of the response; without those after a record that has no number.
  std::vector<PageRecord> records;
  std::string next_iterator;  ///< empty: the shard has ended
  /// The rest of the response cannot be parsed: next_iterator is not valid, and there may be more
  /// records after the last one. The message names the number of the last record before it.
  std::optional<Error> broken;
};

/// Never fails. The records before a damaged one are returned; a response that was cut may have
/// none, but it has no next iterator either, so that no record is skipped. `source` begins the
/// message of an error.
RecordPage ReadRecordPage(std::string_view body, std::string_view source = "GetRecords");

/// Parses one record. Returns kDataLoss, with the field and the sequence number in the message, if
/// a field is missing or has another form.
[[nodiscard]] Result<ChangeRecord> ReadChangeRecord(std::string_view json);

}  // namespace weir::dynamo
