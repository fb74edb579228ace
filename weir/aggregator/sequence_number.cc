#include "weir/aggregator/sequence_number.h"

#include <algorithm>
#include <string>

#include "weir/dynamodb/streams/sequence_number.h"

namespace weir::dynamo {

std::optional<SequenceNumber> ReadSequence(std::string_view text) {
  const std::optional<std::string> digits = NormalizeSequenceNumber(text);
  if (!digits) return std::nullopt;
  SequenceNumber number;
  number.digits.fill('0');
  std::ranges::copy_backward(*digits, number.digits.end());
  return number;
}

}  // namespace weir::dynamo
