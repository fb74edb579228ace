// Events of AWS Lambda with any body: records that were read are valid, the record after them that
// cannot be read has a number to report, and a response names no other record.
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "weir/aggregator/lambda/stream_event.h"
#include "weir/dynamodb/streams/sequence_number.h"

namespace weir::dynamo {
namespace {

void CheckNumber(std::string_view event, std::size_t index, std::string_view normalized) {
  const auto number = NormalizeSequenceNumber(SequenceNumberIn(event, index));
  Require(number.has_value(), "a position has a number");
  Require(normalized.empty() || *number == normalized, "the number is that of the record");
}

void CheckEvent(std::string_view event) {
  const Result<StreamEvent> read = ReadStreamEvent(event);
  if (!read) {
    Require(read.error().code == Code::kDataLoss, "damage is data loss");
    Require(!read.error().message.empty(), "an error says what");
    return;
  }
  for (std::size_t i = 0; i < read->records.size(); ++i) {
    CheckNumber(event, i, read->records[i].sequence_number);
  }
  if (read->unreadable) CheckNumber(event, read->records.size(), "");
}

}  // namespace
}  // namespace weir::dynamo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  weir::dynamo::CheckEvent({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
