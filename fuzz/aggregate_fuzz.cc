// Reads the bytes as the message of an aggregated record. Every part that is read lies within the
// bytes, and reads the same after it is written again.
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "weir/kinesis/wire/deaggregate.h"
#include "weir/kinesis/wire/md5.h"

namespace weir::kinesis {
namespace {

void CheckWithin(std::string_view part, std::string_view whole) {
  const bool inside = part.empty() || (part.data() >= whole.data() &&
                                       part.data() + part.size() <= whole.data() + whole.size());
  Require(inside, "a view lies within the data");
}

void Check(const std::string& data) {
  const auto read = ParseAggregate(data);
  if (!read) return Require(!read.error().message.empty(), "an error says what");
  AggregateWriter writer;
  for (const UserRecordView& record : *read) {
    CheckWithin(record.partition_key, data);
    CheckWithin(record.data, data);
    writer.Add(record);
  }
  if (read->size() < 2) return;
  const std::string again = writer.Take();
  const auto reread = ParseAggregate(again);
  Require(reread.has_value() && *reread == *read, "what is written again reads the same");
  (void)Deaggregate("a", data, {100, 200});
}

}  // namespace
}  // namespace weir::kinesis

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using weir::kinesis::kAggregateMagic;
  const std::string message(reinterpret_cast<const char*>(bytes), size);
  const auto sum = weir::kinesis::Md5Of({message});
  weir::kinesis::Check(std::string(kAggregateMagic) + message +
                       std::string(sum.begin(), sum.end()));
  return 0;
}
