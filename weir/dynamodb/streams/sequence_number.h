// The sequence numbers of stream records.
//
// Format: AWS, "DynamoDB Streams API reference": 21 to 40 decimal digits. Engines write shorter
// numbers, or fill them with zeros. Weir keeps them without leading zeros (ChangeRecord).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::dynamo {

/// Removes the leading zeros. Returns nothing unless the text is 1 to 40 decimal digits.
std::optional<std::string> NormalizeSequenceNumber(std::string_view text);

/// Returns whether a < b. REQUIRES: both are normalized.
bool IsEarlier(std::string_view a, std::string_view b);

/// Returns the number as requests contain it: filled with zeros to 21 digits.
std::string PadSequenceNumber(std::string_view normalized);

}  // namespace weir::dynamo
