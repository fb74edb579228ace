// Responses of DynamoDB Streams with any body: records that were read are valid, a damaged record
// is named by its number, and a response that is broken has no next iterator, which would skip
// records.
#include <algorithm>
#include <string_view>

#include "fuzz/require.h"
#include "weir/dynamodb/streams/record_page.h"
#include "weir/dynamodb/streams/sequence_number.h"
#include "weir/dynamodb/streams/stream_wire.h"

namespace weir::dynamo {
namespace {

void CheckRecord(const PageRecord& record) {
  Require(NormalizeSequenceNumber(record.sequence_number) == record.sequence_number,
          "a number is normalized");
  if (record.change) {
    Require(record.change->sequence_number == record.sequence_number, "both numbers are equal");
    Require(record.change->created.value >= 0, "a time is not negative");
  } else {
    Require(record.change.error().code == Code::kDataLoss, "damage is data loss");
    Require(record.change.error().message.find(record.sequence_number) != std::string::npos,
            "an error names the number");
  }
}

void CheckPage(std::string_view body) {
  const RecordPage page = ReadRecordPage(body);
  std::ranges::for_each(page.records, CheckRecord);
  if (!page.broken) return;
  Require(!page.broken->message.empty(), "an error says what");
  Require(page.next_iterator.empty(), "a broken page has no iterator");
}

void CheckShards(std::string_view body) {
  const auto page = ReadDescribeStream(body);
  Require(page.has_value() || !page.error().message.empty(), "an error says what");
  for (std::size_t i = 0; page && i < page->shards.size(); ++i) {
    Require(!page->shards[i].id.empty(), "a shard has an id");
  }
}

}  // namespace
}  // namespace weir::dynamo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(bytes), size);
  weir::dynamo::CheckPage(body);
  weir::dynamo::CheckShards(body);
  return 0;
}
