#include "weir/kinesis/wire/aggregate.h"

#include <utility>

#include "weir/kinesis/wire/md5.h"

namespace weir::kinesis {
namespace {

constexpr char kKeyTag = '\x0A';     // field 1, length-delimited
constexpr char kHashTag = '\x12';    // field 2
constexpr char kRecordTag = '\x1A';  // field 3
constexpr char kKeyIndexTag = '\x08';
constexpr char kHashIndexTag = '\x10';
constexpr char kDataTag = '\x1A';

std::size_t VarintSize(std::uint64_t value) {
  std::size_t bytes = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++bytes;
  }
  return bytes;
}

void AppendVarint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

/// Returns the size of a field with contents of this length: tag, length and contents.
std::size_t FieldSize(std::size_t length) { return 1 + VarintSize(length) + length; }

void AppendField(std::string& out, char tag, std::string_view bytes) {
  out += tag;
  AppendVarint(out, bytes.size());
  out += bytes;
}

void AppendNumber(std::string& out, char tag, std::uint64_t value) {
  out += tag;
  AppendVarint(out, value);
}

}  // namespace

std::uint64_t AggregateWriter::Table::PlaceOf(std::string_view text) const {
  const auto found = places.find(text);
  return found == places.end() ? places.size() : found->second;
}

std::size_t AggregateWriter::Table::CostOf(std::string_view text) const {
  return places.contains(text) ? 0 : FieldSize(text.size());
}

std::uint64_t AggregateWriter::Table::Put(char tag, std::string_view text) {
  const auto [entry, is_new] = places.try_emplace(text, places.size());
  if (is_new) AppendField(bytes, tag, text);
  return entry->second;
}

std::size_t AggregateWriter::BodySize(const UserRecordView& record) const {
  std::size_t size = 1 + VarintSize(keys_.PlaceOf(record.partition_key));
  if (record.explicit_hash_key) size += 1 + VarintSize(hashes_.PlaceOf(*record.explicit_hash_key));
  return size + FieldSize(record.data.size());
}

std::size_t AggregateWriter::SizeOf(std::size_t count, std::size_t message) const {
  if (count == 0) return 0;
  return count == 1 ? first_data_ : kAggregateFrame + message;
}

std::size_t AggregateWriter::SizeWith(const UserRecordView& record) const {
  if (count_ == 0) return record.data.size();
  std::size_t message = message_size() + keys_.CostOf(record.partition_key);
  if (record.explicit_hash_key) message += hashes_.CostOf(*record.explicit_hash_key);
  return SizeOf(count_ + 1, message + FieldSize(BodySize(record)));
}

void AggregateWriter::Add(const UserRecordView& record) {
  const std::size_t body = BodySize(record);
  records_ += kRecordTag;
  AppendVarint(records_, body);
  AppendNumber(records_, kKeyIndexTag, keys_.Put(kKeyTag, record.partition_key));
  if (record.explicit_hash_key) {
    AppendNumber(records_, kHashIndexTag, hashes_.Put(kHashTag, *record.explicit_hash_key));
  }
  AppendField(records_, kDataTag, record.data);
  if (++count_ == 1) {
    first_data_ = record.data.size();
    first_end_ = records_.size();
  }
}

std::string AggregateWriter::Take() {
  const AggregateWriter full = std::exchange(*this, {});
  if (full.count_ <= 1) return full.records_.substr(full.first_end_ - full.first_data_);
  const Md5 sum = Md5Of({full.keys_.bytes, full.hashes_.bytes, full.records_});
  std::string data;
  data.reserve(full.size());
  data += kAggregateMagic;
  data += full.keys_.bytes;
  data += full.hashes_.bytes;
  data += full.records_;
  data.append(sum.begin(), sum.end());
  return data;
}

}  // namespace weir::kinesis
