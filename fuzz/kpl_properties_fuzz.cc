// Properties files of any bytes: an error has a reason, and the lines of the result are in order.
#include <string_view>

#include "fuzz/require.h"
#include "weir/kinesis/producer_config.h"
#include "weir/kinesis/properties_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto properties = weir::kinesis::ReadProperties(text);
  int last = 0;
  for (std::size_t i = 0; properties && i < properties->size(); ++i) {
    weir::Require((*properties)[i].line > last, "lines go on");
    last = (*properties)[i].line;
  }
  const auto loaded = weir::kinesis::ParseProperties(text);
  weir::Require(loaded.has_value() || !loaded.error().message.empty(), "an error says what");
  weir::Require(properties.has_value() || !loaded.has_value(), "what is not a file sets nothing");
  return 0;
}
