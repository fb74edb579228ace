#include "weir/kinesis/wire/deaggregate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "weir/kinesis/wire/md5.h"

namespace weir::kinesis {
namespace {

constexpr std::size_t kChecksumSize = 16;
// The service accepts partition keys of 256 characters, which have up to 4 bytes each in UTF-8, and
// explicit hash keys of 39 digits.
constexpr std::size_t kMaxKeyBytes = 1'024;
constexpr std::size_t kMaxHashDigits = 39;
// The records of an aggregate name their keys by index, and each reader of a user record copies its
// keys: records of 6 bytes that name one key of 1,024 bytes would become 170 times as large. Keys
// of 256 bytes stay within this bound whatever the records are, and keys of 1,024 bytes if the
// records have 10 bytes of data.
constexpr std::size_t kMaxKeyGrowth = 64;
constexpr std::size_t kKeyAllowance = 64 << 10;

/// One field of a protobuf message: its bytes or, if it is a varint, its value.
struct Field {
  std::uint64_t number = 0;  ///< the number of the field
  bool is_bytes = false;
  std::string_view bytes;
  std::uint64_t value = 0;
};

/// Reads the fields of one message, one after the other.
class Reader {
 public:
  /// `start`: the offset of `message` in the data, for errors.
  Reader(std::string_view message, std::size_t start) : rest_(message), at_(start) {}

  bool done() const { return rest_.empty(); }
  std::size_t at() const { return at_; }

  Result<Field> Next() {
    WEIR_ASSIGN_OR_RETURN(const std::uint64_t key, Varint());
    Field field{.number = key >> 3, .bytes = {}};
    switch (key & 7) {
      case 0: {
        WEIR_ASSIGN_OR_RETURN(field.value, Varint());
        return field;
      }
      case 2: {
        WEIR_ASSIGN_OR_RETURN(const std::uint64_t length, Varint());
        if (length > rest_.size()) return BadAggregate("a length goes beyond the end");
        field.is_bytes = true;
        field.bytes = rest_.substr(0, length);
        Advance(length);
        return field;
      }
      default:
        return BadAggregate("a field is neither a varint nor length-delimited");
    }
  }

  tl::unexpected<Error> BadAggregate(std::string_view what) const {
    return Fail(Code::kDataLoss, fmt::format("aggregated record, byte {}: {}", at_, what));
  }

 private:
  Result<std::uint64_t> Varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return BadAggregate("a number is cut off");
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      Advance(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return BadAggregate("a number is longer than 64 bits");
  }

  void Advance(std::size_t bytes) {
    rest_.remove_prefix(bytes);
    at_ += bytes;
  }

  std::string_view rest_;
  std::size_t at_;
};

struct Tables {
  std::vector<std::string_view> keys;
  std::vector<std::string_view> hashes;
};

// Thousands of small records may name one entry of a table, and each reader of a user record copies
// or hashes the entry.
Status AddToTable(const Reader& reader, std::string_view text, std::size_t longest,
                  std::vector<std::string_view>& table) {
  if (text.size() > longest) {
    return reader.BadAggregate(
        fmt::format("a key has {} bytes, more than {}", text.size(), longest));
  }
  table.push_back(text);
  return {};
}

/// A record with unresolved indexes, since tables may follow it.
struct Indexed {
  std::optional<std::uint64_t> key;
  std::optional<std::uint64_t> hash;
  std::optional<std::string_view> data;
  std::size_t at = 0;
};

Result<Indexed> ParseRecord(std::string_view body, std::size_t at) {
  Indexed record{.key = {}, .hash = {}, .data = {}, .at = at};
  Reader reader(body, at);
  while (!reader.done()) {
    WEIR_ASSIGN_OR_RETURN(const Field field, reader.Next());
    if (field.number == 1 && !field.is_bytes) record.key = field.value;
    if (field.number == 2 && !field.is_bytes) record.hash = field.value;
    if (field.number == 3 && field.is_bytes) record.data = field.bytes;
  }
  if (!record.key) return reader.BadAggregate("a record has no partition key");
  if (!record.data) return reader.BadAggregate("a record has no data");
  return record;
}

Result<UserRecordView> Resolve(const Indexed& record, const Tables& tables) {
  const bool is_in_tables =
      *record.key < tables.keys.size() && (!record.hash || *record.hash < tables.hashes.size());
  if (!is_in_tables) {
    return Fail(
        Code::kDataLoss,
        fmt::format("aggregated record, byte {}: an index goes beyond its table", record.at));
  }
  UserRecordView view{.partition_key = tables.keys[*record.key],
                      .explicit_hash_key = std::nullopt,
                      .data = *record.data};
  if (record.hash) view.explicit_hash_key = tables.hashes[*record.hash];
  return view;
}

// kDataLoss, too: the keys of all records have more than `most` bytes together.
Result<std::vector<UserRecordView>> ResolveAll(const std::vector<Indexed>& indexed,
                                               const Tables& tables, std::size_t most) {
  std::vector<UserRecordView> records;
  records.reserve(indexed.size());
  std::size_t bytes = 0;
  for (const Indexed& record : indexed) {
    WEIR_ASSIGN_OR_RETURN(const UserRecordView view, Resolve(record, tables));
    bytes += view.partition_key.size() + view.explicit_hash_key.value_or("").size();
    if (bytes > most) {
      return Fail(Code::kDataLoss,
                  fmt::format("aggregated record, byte {}: the keys of its records have more than "
                              "{} bytes together",
                              record.at, most));
    }
    records.push_back(view);
  }
  return records;
}

// REQUIRES: IsAggregate(data).
Result<std::vector<UserRecordView>> ParseMessage(std::string_view data) {
  Reader reader(data.substr(kAggregateMagic.size(), data.size() - kAggregateFrame),
                kAggregateMagic.size());
  Tables tables;
  std::vector<Indexed> indexed;
  while (!reader.done()) {
    WEIR_ASSIGN_OR_RETURN(const Field field, reader.Next());
    if (!field.is_bytes) continue;
    if (field.number == 1) {
      WEIR_RETURN_IF_ERROR(AddToTable(reader, field.bytes, kMaxKeyBytes, tables.keys));
    }
    if (field.number == 2) {
      WEIR_RETURN_IF_ERROR(AddToTable(reader, field.bytes, kMaxHashDigits, tables.hashes));
    }
    if (field.number != 3) continue;
    WEIR_ASSIGN_OR_RETURN(indexed.emplace_back(),
                          ParseRecord(field.bytes, reader.at() - field.bytes.size()));
  }
  return ResolveAll(indexed, tables, kMaxKeyGrowth * data.size() + kKeyAllowance);
}

}  // namespace

bool IsAggregate(std::string_view data) {
  if (data.size() <= kAggregateFrame || !data.starts_with(kAggregateMagic)) return false;
  const std::string_view message =
      data.substr(kAggregateMagic.size(), data.size() - kAggregateFrame);
  const Md5 sum = Md5Of({message});
  return std::memcmp(sum.data(), data.data() + data.size() - kChecksumSize, kChecksumSize) == 0;
}

Result<std::vector<UserRecordView>> ParseAggregate(std::string_view data) {
  if (IsAggregate(data)) return ParseMessage(data);
  return Fail(
      Code::kDataLoss,
      fmt::format("{} bytes are not an aggregated record: the magic or the checksum is wrong",
                  data.size()));
}

Result<HashKey> HashOf(const UserRecordView& record) {
  if (!record.explicit_hash_key) return HashOfPartitionKey(record.partition_key);
  auto hash = ParseHashKey(*record.explicit_hash_key);
  if (!hash) hash.error().code = Code::kDataLoss;
  return hash;
}

Result<std::vector<UserRecordView>> Deaggregate(std::string_view partition_key,
                                                std::string_view data, const HashRange& range) {
  if (!IsAggregate(data)) {
    return std::vector<UserRecordView>{{partition_key, std::nullopt, data}};
  }
  WEIR_ASSIGN_OR_RETURN(std::vector<UserRecordView> records, ParseMessage(data));
  for (const UserRecordView& record : records) {
    WEIR_ASSIGN_OR_RETURN(const HashKey hash, HashOf(record));
    if (!range.Contains(hash)) return std::vector<UserRecordView>();
  }
  return records;
}

}  // namespace weir::kinesis
