#include "weir/aggregator/archive/audit_archive.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "weir/aggregator/usage/bucket_change.h"
#include "weir/codec/iso_time.h"
#include "weir/codec/json_text.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {
namespace {

constexpr std::string_view kAuditSort = "#AUDIT#";
constexpr std::array<std::string_view, 7> kEventFields = {
    "event_id", "entity_id", "action", "timestamp", "principal", "resource", "details"};
constexpr int kGzipWindowBits = 15 + 16;  // 16: with the header and trailer of gzip
constexpr int kUsualMemory = 8;

void AppendPlain(std::string& out, const Value& value);

template <class Range, class Append>
void AppendList(std::string& out, const Range& range, Append append) {
  out += '[';
  for (const char* separator = ""; const auto& element : range) {
    out += std::exchange(separator, ",");
    append(element);
  }
  out += ']';
}

// Writes a value as plain JSON, without DynamoDB's types.
struct PlainWriter {
  std::string& out;

  void operator()(const Null&) const { out += "null"; }
  void operator()(bool flag) const { out += flag ? "true" : "false"; }
  void operator()(const std::string& text) const { AppendJson(out, std::string_view(text)); }
  void operator()(const Number& number) const { out += number.text; }
  void operator()(const StringSet& set) const { AppendList(out, set.members, *this); }
  void operator()(const List& list) const {
    AppendList(out, list, [this](const Value& value) { AppendPlain(out, value); });
  }
  void operator()(const Item& map) const {
    out += '{';
    for (const char* separator = ""; const auto& [name, value] : map) {
      out += std::exchange(separator, ",");
      AppendJson(out, std::string_view(name));
      out += ':';
      AppendPlain(out, value);
    }
    out += '}';
  }
  void operator()(const Bytes& bytes) const {
    AppendJson(out, std::string_view(absl::Base64Escape(bytes.content)));
  }
  void operator()(const Opaque& opaque) const { out += opaque.json; }
};

void AppendPlain(std::string& out, const Value& value) { std::visit(PlainWriter{out}, value.held); }

void AppendLine(std::string& out, const ChangeRecord& record) {
  out += '{';
  for (const std::string_view field : kEventFields) {
    AppendJson(out, field);
    out += ':';
    const auto found = record.old_image.find(field);
    AppendPlain(out, found == record.old_image.end() ? Value{Null{}} : found->second);
    out += ',';
  }
  const std::string partition = KeyOf(record.keys).pk;
  out += R"("namespace_id":)";
  AppendJson(out, std::string_view(partition).substr(0, partition.find('/')));
  out += "}\n";
}

// Returns the time of an event; if it has none, the time of its deletion.
UnixMillis TimeOf(const ChangeRecord& record) {
  const std::string* text = GetText(record.old_image, "timestamp");
  const std::optional<UnixMillis> time = text == nullptr ? std::nullopt : ParseIso(*text);
  constexpr UnixMillis kLastDay{253'402'214'400'000};
  return time.value_or(std::clamp(record.created, UnixMillis{0}, kLastDay));
}

std::string KeyOfObject(const ChangeRecord& record, const SequenceNumber& sequence) {
  std::string time = FormatIso(TimeOf(record));
  const std::string_view day = time;
  std::string key = fmt::format("audit/year={}/month={}/day={}/audit-", day.substr(0, 4),
                                day.substr(5, 2), day.substr(8, 2));
  std::ranges::replace(time, ':', '-');
  return key + fmt::format("{}-{}.jsonl.gz", time, sequence.text());
}

}  // namespace

bool IsExpiredEvent(const ChangeRecord& record) {
  if (record.kind != ChangeKind::kRemove || !record.expired) return false;
  const std::string* sort = GetText(record.keys, "SK");
  return sort != nullptr && sort->starts_with(kAuditSort);
}

Result<std::string> Gzip(std::string_view text) {
  z_stream stream{};
  const auto fail = [] { return Fail(Code::kInternal, "zlib cannot compress the archive"); };
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindowBits, kUsualMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return fail();
  }
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int status = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) return fail();
  return packed;
}

Result<ArchiveObject> MakeArchiveObject(const ChangeRecord& record) {
  WEIR_ASSIGN_OR_RETURN(const SequenceNumber sequence, SequenceOf(record));
  std::string line;
  AppendLine(line, record);
  WEIR_ASSIGN_OR_RETURN(std::string body, Gzip(line));
  return ArchiveObject{.key = KeyOfObject(record, sequence),
                       .content_type = "application/x-ndjson",
                       .content_encoding = "gzip",
                       .body = std::move(body)};
}

}  // namespace weir::dynamo
