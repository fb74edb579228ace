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
  /// In the order of the response, up to the first record that has no sequence number.
  std::vector<PageRecord> records;
  std::string next_iterator;  ///< empty: the shard has ended
  /// Set if the rest of the response cannot be parsed. Then next_iterator is not valid, and the
  /// response may have had more records. The message contains the last record's sequence number.
  std::optional<Error> broken;
};

/// Never fails: returns the records before the place where the response cannot be parsed. A
/// truncated response may have no records, but it has no next iterator either, so that no record is
/// skipped. `source` is the beginning of the message of an error.
RecordPage ReadRecordPage(std::string_view body, std::string_view source = "GetRecords");

/// Parses one record. Returns kDataLoss, with the field and the sequence number in the message, if
/// a field is missing or has another form.
[[nodiscard]] Result<ChangeRecord> ReadChangeRecord(std::string_view json);

}  // namespace weir::dynamo
