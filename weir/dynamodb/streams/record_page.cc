#include "weir/dynamodb/streams/record_page.h"

#include <fmt/format.h>

#include <cmath>

#include "weir/codec/json_members.h"
#include "weir/dynamodb/attribute_reader.h"
#include "weir/dynamodb/streams/sequence_number.h"

namespace weir::dynamo {
namespace {

// Creation times must be before this time, the first second of the year 10,000.
constexpr double kYear10000 = 253'402'300'800;

/// Adds the name of the field to what `read` throws.
template <class Read>
void ReadField(std::string_view name, const Read& read) {
  try {
    read();
  } catch (const simdjson::simdjson_error& error) {
    throw UnexpectedJson{fmt::format("{}: {}", name, error.what())};
  } catch (const UnexpectedJson& unexpected) {
    throw UnexpectedJson{fmt::format("{}: {}", name, unexpected.what)};
  }
}

std::string ReadSequence(JsonValue json) {
  const auto number = NormalizeSequenceNumber(std::string_view(json.get_string()));
  if (!number) throw UnexpectedJson{"not 1 to 40 digits"};
  return *number;
}

ChangeKind ReadChangeKind(std::string_view name) {
  if (name == "INSERT") return ChangeKind::kInsert;
  if (name == "MODIFY") return ChangeKind::kModify;
  if (name == "REMOVE") return ChangeKind::kRemove;
  throw UnexpectedJson{"not INSERT, MODIFY or REMOVE"};
}

UnixMillis ReadCreationTime(double seconds) {
  if (!(seconds >= 0 && seconds < kYear10000)) throw UnexpectedJson{"not a time in seconds"};
  return {std::llround(seconds * 1000)};
}

/// Returns whether the identity is the service that deletes expired items.
bool ReadIsTtlService(JsonObject fields) {
  std::string type, principal;
  ForMembers(fields, [&](std::string_view name, JsonValue json) {
    if (name == "Type" || name == "type") type = TextOf(json);
    if (name == "PrincipalId" || name == "principalId") principal = TextOf(json);
  });
  return type == "Service" && principal == "dynamodb.amazonaws.com";
}

/// The fields that a record must have.
struct FieldsSeen {
  bool kind = false;
  bool created = false;
  bool keys = false;
};

void ReadStreamFields(JsonObject fields, ChangeRecord& record, FieldsSeen& seen) {
  ForMembers(fields, [&](std::string_view name, JsonValue json) {
    ReadField(name, [&] {
      if (name == "SequenceNumber") record.sequence_number = ReadSequence(json);
      if (name == "Keys") record.keys = ReadAttributes(json.get_object());
      if (name == "NewImage") record.new_image = ReadAttributes(json.get_object());
      if (name == "OldImage") record.old_image = ReadAttributes(json.get_object());
      if (name == "ApproximateCreationDateTime") {
        record.created = ReadCreationTime(json.get_double());
        seen.created = true;
      }
    });
    seen.keys |= name == "Keys";
  });
}

void ReadRecordField(std::string_view name, JsonValue json, ChangeRecord& record,
                     FieldsSeen& seen) {
  if (name == "dynamodb") ReadStreamFields(json.get_object(), record, seen);
  if (name == "userIdentity" && !json.is_null()) {
    record.expired = ReadIsTtlService(json.get_object());
  }
  if (name != "eventName") return;
  record.kind = ReadChangeKind(json.get_string());
  seen.kind = true;
}

Status CheckFields(const ChangeRecord& record, const FieldsSeen& seen) {
  const auto missing = [](std::string_view name) {
    return Fail(Code::kDataLoss, fmt::format("{}: missing", name));
  };
  if (record.sequence_number.empty()) return missing("dynamodb: SequenceNumber");
  if (!seen.kind) return missing("eventName");
  if (!seen.keys) return missing("dynamodb: Keys");
  if (!seen.created) return missing("dynamodb: ApproximateCreationDateTime");
  return {};
}

Status ReadFieldsOf(std::string_view json, ChangeRecord& record) {
  FieldsSeen seen;
  WEIR_RETURN_IF_ERROR(ReadMembers(json, [&](std::string_view name, JsonValue value) {
    ReadField(name, [&] { ReadRecordField(name, value, record, seen); });
  }));
  return CheckFields(record, seen);
}

/// Passes the field `wanted` of the record's `dynamodb` to `read`; other fields may be damaged.
template <class Read>
void FindStreamField(std::string_view record, std::string_view wanted, const Read& read) {
  // A defect after the field does not matter.
  (void)ReadMembers(record, [&](std::string_view name, JsonValue value) {
    if (name != "dynamodb") return;
    ForMembers(value.get_object(), [&](std::string_view field, JsonValue inner) {
      if (field == wanted) read(inner);
    });
  });
}

/// Returns an empty text if the record has no sequence number.
std::string FindSequence(std::string_view json) {
  std::string number;
  FindStreamField(json, "SequenceNumber", [&](JsonValue value) { number = ReadSequence(value); });
  return number;
}

std::optional<UnixMillis> FindCreationTime(std::string_view json) {
  std::optional<UnixMillis> created;
  FindStreamField(json, "ApproximateCreationDateTime",
                  [&](JsonValue value) { created = ReadCreationTime(value.get_double()); });
  return created;
}

/// Adds a record to the page. Throws if the record has no sequence number.
void AddPageRecord(std::string_view json, RecordPage& page) {
  Result<ChangeRecord> change = ReadChangeRecord(json);
  std::string number = change ? change->sequence_number : FindSequence(json);
  if (number.empty()) throw UnexpectedJson{change.error().message};
  const auto created = change ? std::optional(change->created) : FindCreationTime(json);
  page.records.push_back({std::move(number), json.size(), created, std::move(change)});
}

}  // namespace

Result<ChangeRecord> ReadChangeRecord(std::string_view json) {
  ChangeRecord record;
  const Status read = ReadFieldsOf(json, record);
  if (read) return record;
  const std::string number = FindSequence(json);
  return Fail(Code::kDataLoss, fmt::format("stream record {}: {}",
                                           number.empty() ? "without a sequence number" : number,
                                           read.error().message));
}

RecordPage ReadRecordPage(std::string_view body, std::string_view source) {
  RecordPage page;
  bool has_records = false;
  Status read = ReadMembers(body, [&](std::string_view name, JsonValue json) {
    if (name == "NextShardIterator") page.next_iterator = TextOf(json);
    if (name != "Records") return;
    has_records = true;
    for (auto element : json.get_array()) {
      AddPageRecord(simdjson::to_json_string(element.value()), page);
    }
  });
  if (read && !has_records) read = Fail(Code::kDataLoss, "Records: missing");
  if (read) return page;
  page.next_iterator.clear();
  const std::string before =
      page.records.empty() ? "" : fmt::format(", after {}", page.records.back().sequence_number);
  page.broken =
      Error{read.error().code, fmt::format("{}{}: {}", source, before, read.error().message)};
  return page;
}

}  // namespace weir::dynamo
