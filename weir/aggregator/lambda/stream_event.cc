#include "weir/aggregator/lambda/stream_event.h"

#include <fmt/format.h>

#include <utility>

#include "weir/codec/json_members.h"
#include "weir/codec/json_text.h"
#include "weir/dynamodb/streams/record_page.h"
#include "weir/dynamodb/streams/sequence_number.h"

namespace weir::dynamo {
namespace {

/// Sets `number` to the record's sequence number, even if the text after it is damaged.
void ReadNumber(JsonObject record, std::string& number) {
  ForMembers(record, [&](std::string_view name, JsonValue json) {
    if (name != "dynamodb") return;
    ForMembers(json.get_object(), [&](std::string_view field, JsonValue value) {
      if (field != "SequenceNumber") return;
      const std::string_view text = value.get_string();
      if (!NormalizeSequenceNumber(text)) throw UnexpectedJson{"not 1 to 40 digits"};
      number = text;
    });
  });
}

/// Returns whether an ARN is that of a stream of the table.
bool IsStreamOf(std::string_view arn, std::string_view table) {
  return arn.contains(fmt::format(":table/{}/stream/", table));
}

}  // namespace

// An event has the form of a page of the stream without an iterator.
Result<StreamEvent> ReadStreamEvent(std::string_view event) {
  RecordPage page = ReadRecordPage(event, "event of a table's stream");
  if (page.broken) return Fail(*std::move(page.broken));
  StreamEvent result;
  result.records.reserve(page.records.size());
  for (PageRecord& record : page.records) {
    if (!record.change) {
      result.unreadable = std::move(record.change.error());
      break;
    }
    result.records.push_back(*std::move(record.change));
  }
  return result;
}

Status CheckSource(std::string_view event, std::string_view table) {
  std::string other;
  // Damaged records are reported by ReadStreamEvent.
  (void)ReadMembers(event, [&](std::string_view name, JsonValue json) {
    if (name != "Records") return;
    for (auto element : json.get_array()) {
      ForMembers(element.get_object(), [&](std::string_view field, JsonValue value) {
        if (field != "eventSourceARN") return;
        const std::string_view arn = value.get_string();
        if (other.empty() && !IsStreamOf(arn, table)) other = arn;
      });
    }
  });
  if (other.empty()) return {};
  return Fail(Code::kFailedPrecondition,
              fmt::format("the function counts table {}, but a record is from {}: the event source "
                          "mapping must read the stream of table {}",
                          table, other, table));
}

std::string SequenceNumberIn(std::string_view event, std::size_t index) {
  std::string number;
  std::size_t at = 0;
  // A defect after the number does not matter.
  (void)ReadMembers(event, [&](std::string_view name, JsonValue json) {
    if (name != "Records") return;
    for (auto element : json.get_array()) {
      if (at++ == index) ReadNumber(element.get_object(), number);
    }
  });
  return number;
}

std::string BatchResponse(const std::optional<std::string>& failed) {
  std::string response = R"({"batchItemFailures":[)";
  if (failed) {
    response += R"({"itemIdentifier":)";
    AppendJson(response, *failed);
    response += '}';
  }
  return response + "]}";
}

}  // namespace weir::dynamo
