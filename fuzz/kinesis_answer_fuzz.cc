// Answers of Kinesis with any body: an error says what, and what is read could have been sent.
#include <string_view>

#include "fuzz/require.h"
#include "weir/kinesis/wire.h"

namespace weir::kinesis {
namespace {

void Check(std::string_view body) {
  const auto entries = ReadPutRecords(body);
  Require(entries.has_value() || !entries.error().message.empty(), "an error says what");
  for (std::size_t i = 0; entries && i < entries->size(); ++i) {
    const EntryAnswer& entry = (*entries)[i];
    Require(!entry.code.empty() || !entry.sequence_number.empty(), "an entry is stored or failed");
  }
  const auto page = ReadListShards(body);
  Require(page.has_value() || !page.error().message.empty(), "an error says what");
}

}  // namespace
}  // namespace weir::kinesis

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  weir::kinesis::Check({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
