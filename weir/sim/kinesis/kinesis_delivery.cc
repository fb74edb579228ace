#include "weir/sim/kinesis/kinesis_delivery.h"

#include <algorithm>
#include <utility>

namespace weir::sim {
namespace {

constexpr std::string_view kMagic = "\xF3\x89\x9A\xC2";
constexpr std::size_t kSum = 16;

/// One field of a protobuf message (protobuf.dev, "Encoding").
struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;                ///< the value of a varint
  std::optional<std::string_view> bytes;  ///< the content of a field with a length or of fixed size
};

/// Removes fields from the front of a message.
class MessageReader {
 public:
  explicit MessageReader(std::string_view message) : rest_(message) {}

  bool ended() const { return rest_.empty(); }
  /// Returns nothing if the message is malformed.
  std::optional<Field> Next() {
    const auto tag = Varint();
    if (!tag) return std::nullopt;
    Field field{.number = *tag / 8, .bytes = std::nullopt};
    switch (*tag % 8) {
      case 0: {
        const auto value = Varint();
        if (!value) return std::nullopt;
        field.value = *value;
        return field;
      }
      case 1:
        return Sized(field, 8);
      case 2: {
        const auto length = Varint();
        return length ? Sized(field, *length) : std::nullopt;
      }
      case 5:
        return Sized(field, 4);
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<std::uint64_t> Varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value += static_cast<std::uint64_t>(byte & 127) << std::min(shift, 63U);
      if (byte < 128) return value;
    }
    return std::nullopt;
  }

  std::optional<Field> Sized(Field field, std::uint64_t length) {
    if (length > rest_.size()) return std::nullopt;
    field.bytes = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return field;
  }

  std::string_view rest_;
};

struct FramedEntry {
  std::optional<std::uint64_t> key;
  std::optional<std::uint64_t> hash;
  std::optional<std::string> data;
};

struct Aggregate {
  std::vector<std::string> keys;
  std::vector<std::string> hashes;
  std::vector<FramedEntry> entries;
};

std::optional<FramedEntry> ParseEntry(std::string_view message) {
  FramedEntry entry;
  for (MessageReader fields(message); !fields.ended();) {
    const auto field = fields.Next();
    if (!field) return std::nullopt;
    if (field->number == 1) entry.key = field->value;
    if (field->number == 2) entry.hash = field->value;
    if (field->number == 3) entry.data = field->bytes;
  }
  if (!entry.key || !entry.data) return std::nullopt;
  return entry;
}

std::optional<Aggregate> ParseMessage(std::string_view message) {
  Aggregate aggregate;
  for (MessageReader fields(message); !fields.ended();) {
    const auto field = fields.Next();
    if (!field) return std::nullopt;
    if (!field->bytes) continue;
    if (field->number == 1) aggregate.keys.emplace_back(*field->bytes);
    if (field->number == 2) aggregate.hashes.emplace_back(*field->bytes);
    if (field->number != 3) continue;
    auto entry = ParseEntry(*field->bytes);
    if (!entry) return std::nullopt;
    aggregate.entries.push_back(*std::move(entry));
  }
  return aggregate;
}

// Returns nothing if the data is not an aggregate with a correct MD5.
std::optional<Aggregate> ParseAggregate(std::string_view data) {
  if (!data.starts_with(kMagic) || data.size() <= kMagic.size() + kSum) return std::nullopt;
  const std::string_view message = data.substr(kMagic.size(), data.size() - kMagic.size() - kSum);
  const auto sum = Md5(message);
  const bool whole = std::ranges::equal(sum, data.substr(data.size() - kSum), {}, {},
                                        [](char c) { return static_cast<std::uint8_t>(c); });
  return whole ? ParseMessage(message) : std::nullopt;
}

/// Returns nothing if an index is beyond its table.
std::optional<Delivery> Resolve(const Aggregate& aggregate, const FramedEntry& entry) {
  const bool known =
      *entry.key < aggregate.keys.size() && (!entry.hash || *entry.hash < aggregate.hashes.size());
  if (!known) return std::nullopt;
  Delivery delivery{.partition_key = aggregate.keys[*entry.key], .data = *entry.data};
  if (entry.hash) delivery.explicit_hash_key = aggregate.hashes[*entry.hash];
  return delivery;
}

bool IsInside(const Delivery& delivery, const HashSpan& range) {
  if (!delivery.explicit_hash_key) return range.Holds(HashOfKey(delivery.partition_key));
  const auto hash = ReadHash(*delivery.explicit_hash_key);
  return hash && range.Holds(*hash);
}

}  // namespace

std::vector<Delivery> Deliver(const ReadRecord& record) {
  const auto aggregate = ParseAggregate(record.data);
  if (!aggregate) {
    return {{.shard = record.shard,
             .sequence_number = record.sequence_number,
             .partition_key = record.partition_key,
             .data = record.data}};
  }
  std::vector<Delivery> delivered;
  for (const FramedEntry& entry : aggregate->entries) {
    auto delivery = Resolve(*aggregate, entry);
    if (!delivery) return delivered;
    if (!IsInside(*delivery, record.range)) return {};
    delivery->shard = record.shard;
    delivery->sequence_number = record.sequence_number;
    delivery->sub_number = delivered.size();
    delivered.push_back(*std::move(delivery));
  }
  return delivered;
}

}  // namespace weir::sim
