// Responses of Kinesis with any body, in both formats: an error has a message, and each entry of a
// result is stored or failed.
#include <string_view>

#include "fuzz/require.h"
#include "weir/kinesis/wire/wire.h"

namespace weir::kinesis {
namespace {

void Check(WireFormat format, std::string_view body) {
  const auto entries = ReadPutRecords(format, body);
  Require(entries.has_value() || !entries.error().message.empty(), "an error says what");
  for (std::size_t i = 0; entries && i < entries->size(); ++i) {
    const EntryResponse& entry = (*entries)[i];
    Require(!entry.code.empty() || !entry.sequence_number.empty(), "an entry is stored or failed");
  }
  const auto page = ReadListShards(format, body);
  Require(page.has_value() || !page.error().message.empty(), "an error says what");
}

}  // namespace
}  // namespace weir::kinesis

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(bytes), size);
  weir::kinesis::Check(weir::kinesis::WireFormat::kJson, body);
  weir::kinesis::Check(weir::kinesis::WireFormat::kCbor, body);
  return 0;
}
