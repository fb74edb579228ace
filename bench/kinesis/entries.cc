#include "bench/kinesis/entries.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace weir::bench {
namespace {

/// Reads the strings of a JSON text in one pass. The text between strings is only searched for ':'
/// and '}'.
class JsonStrings {
 public:
  explicit JsonStrings(std::string_view text) : text_(text) {}

  /// Returns the next string, with its escapes.
  std::optional<std::string_view> Next() {
    const std::size_t open = text_.find('"', at_);
    if (open == text_.npos) return std::nullopt;
    std::size_t close = text_.find('"', open + 1);
    while (close != text_.npos && IsEscaped(open, close)) close = text_.find('"', close + 1);
    if (close == text_.npos) return std::nullopt;
    at_ = close + 1;
    return text_.substr(open + 1, close - open - 1);
  }

  /// Returns the next character after the last string, without blanks.
  char Following() const {
    const std::size_t next = text_.find_first_not_of(" \t\r\n", at_);
    return next == text_.npos ? '\0' : text_[next];
  }

 private:
  bool IsEscaped(std::size_t open, std::size_t quote) const {
    std::size_t begin = quote;
    while (begin > open + 1 && text_[begin - 1] == '\\') --begin;
    return (quote - begin) % 2 != 0;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

void Assign(Entry& entry, std::string_view name, std::string_view value) {
  if (name == "PartitionKey") entry.partition_key = value;
  if (name == "ExplicitHashKey") entry.hash_key = value;
  if (name == "Data") entry.data = value;
}

// The parts of RFC 8949 that a PutRecords request uses.
enum class Major : std::uint8_t {
  kUnsigned,
  kNegative,
  kBytes,
  kText,
  kArray,
  kMap,
  kTag,
  kSimple
};

struct Head {
  Major major = Major::kSimple;
  std::uint64_t count = 0;
  bool indefinite = false;
  bool is_break() const { return major == Major::kSimple && indefinite; }
};

class CborReader {
 public:
  explicit CborReader(std::string_view text) : text_(text) {}

  std::optional<Head> Read() {
    if (at_ == text_.size()) return std::nullopt;
    const auto first = static_cast<std::uint8_t>(text_[at_++]);
    Head head{static_cast<Major>(first >> 5), first & 31U};
    if (head.count == 31) {
      head.indefinite = true;
    } else if (head.count >= 24) {
      const std::size_t width = std::size_t{1} << (head.count - 24);
      if (width > 8 || text_.size() - at_ < width) return std::nullopt;
      head.count = 0;
      for (std::size_t i = 0; i < width; ++i) {
        head.count = head.count << 8 | static_cast<std::uint8_t>(text_[at_++]);
      }
    }
    return head;
  }

  std::optional<std::string_view> ReadString(const Head& head) {
    if (head.indefinite || text_.size() - at_ < head.count) return std::nullopt;
    const std::string_view string = text_.substr(at_, head.count);
    at_ += head.count;
    return string;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

bool IsString(const Head& head) {
  return head.major == Major::kBytes || head.major == Major::kText;
}

/// Calls `item` for each item of an array or each name of a map.
template <class Item>
bool ForEach(CborReader& reader, const Head& head, Item item) {
  for (std::uint64_t i = 0; head.indefinite || i < head.count; ++i) {
    const auto next = reader.Read();
    if (!next) return false;
    if (next->is_break()) return head.indefinite;
    if (!item(*next)) return false;
  }
  return true;
}

bool ReadCborEntry(CborReader& reader, const Head& head, Entry& entry) {
  return head.major == Major::kMap && ForEach(reader, head, [&](const Head& name) {
           const auto what = reader.ReadString(name);
           const auto kind = reader.Read();
           if (!what || !kind || !IsString(*kind)) return false;
           const auto value = reader.ReadString(*kind);
           if (value) Assign(entry, *what, *value);
           return value.has_value();
         });
}

}  // namespace

bool FindJsonEntries(std::string_view body, std::vector<Entry>& entries) {
  entries.clear();
  JsonStrings strings(body);
  Entry entry;
  while (const auto name = strings.Next()) {
    if (*name == "Records" || strings.Following() != ':') continue;
    const auto value = strings.Next();
    if (!value) return false;
    Assign(entry, *name, *value);
    if (strings.Following() != '}' || entry.partition_key.empty()) continue;
    if (entry.partition_key.find('\\') != entry.partition_key.npos) return false;
    entries.push_back(entry);
    entry = {};
  }
  return !entries.empty();
}

bool FindCborEntries(std::string_view body, std::vector<Entry>& entries) {
  entries.clear();
  CborReader reader(body);
  const auto request = reader.Read();
  if (!request || request->major != Major::kMap) return false;
  const bool whole = ForEach(reader, *request, [&](const Head& name) {
    const auto what = reader.ReadString(name);
    const auto value = reader.Read();
    if (!what || !value) return false;
    if (IsString(*value)) return reader.ReadString(*value).has_value();
    return value->major == Major::kArray && ForEach(reader, *value, [&](const Head& item) {
             return ReadCborEntry(reader, item, entries.emplace_back());
           });
  });
  return whole && !entries.empty();
}

kinesis::HashRange RangeOf(int shard) {
  const kinesis::HashKey first = kinesis::HashKey(static_cast<std::uint64_t>(shard)) << 126;
  return {first, first + ((kinesis::HashKey(1) << 126) - 1)};
}

int ShardOf(const Entry& entry) {
  if (entry.hash_key.empty()) {
    return static_cast<int>(kinesis::HashOfPartitionKey(entry.partition_key) >> 126);
  }
  const auto hash = kinesis::ParseHashKey(entry.hash_key);
  return hash ? static_cast<int>(*hash >> 126) : -1;
}

}  // namespace weir::bench
