#include "weir/kinesis/wire/aggregate.h"

#include <utility>

#include "weir/kinesis/wire/md5.h"

namespace weir::kinesis {
namespace {

// Tags of AggregatedRecord: fields 1 to 3, length-delimited.
constexpr char kKeyTag = '\x0A';
constexpr char kHashTag = '\x12';
constexpr char kRecordTag = '\x1A';
// Tags of Record: fields 1 and 2, varints; field 3, length-delimited.
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

std::uint64_t AggregateWriter::Table::IndexOf(std::string_view text) const {
  const auto found = indexes.find(text);
  return found == indexes.end() ? indexes.size() : found->second;
}

std::size_t AggregateWriter::Table::CostOf(std::string_view text) const {
  return indexes.contains(text) ? 0 : FieldSize(text.size());
}

std::uint64_t AggregateWriter::Table::Put(char tag, std::string_view text) {
  const auto [entry, is_new] = indexes.try_emplace(text, indexes.size());
  if (is_new) AppendField(bytes, tag, text);
  return entry->second;
}

std::size_t AggregateWriter::BodySize(const UserRecordView& record) const {
  std::size_t size = 1 + VarintSize(keys_.IndexOf(record.partition_key));
  if (record.explicit_hash_key) size += 1 + VarintSize(hashes_.IndexOf(*record.explicit_hash_key));
  return size + FieldSize(record.data.size());
}

std::size_t AggregateWriter::SizeOf(std::size_t count, std::size_t message_bytes) const {
  if (count == 0) return 0;
  return count == 1 ? first_data_size_ : kAggregateFrame + message_bytes;
}

std::size_t AggregateWriter::SizeWith(const UserRecordView& record) const {
  if (count_ == 0) return record.data.size();
  std::size_t message_bytes = message_size() + keys_.CostOf(record.partition_key);
  if (record.explicit_hash_key) message_bytes += hashes_.CostOf(*record.explicit_hash_key);
  return SizeOf(count_ + 1, message_bytes + FieldSize(BodySize(record)));
}

void AggregateWriter::Add(const UserRecordView& record) {
  const std::size_t body_size = BodySize(record);
  records_ += kRecordTag;
  AppendVarint(records_, body_size);
  AppendNumber(records_, kKeyIndexTag, keys_.Put(kKeyTag, record.partition_key));
  if (record.explicit_hash_key) {
    AppendNumber(records_, kHashIndexTag, hashes_.Put(kHashTag, *record.explicit_hash_key));
  }
  AppendField(records_, kDataTag, record.data);
  if (++count_ == 1) {
    first_data_size_ = record.data.size();
    first_data_end_ = records_.size();
  }
}

std::string AggregateWriter::Take() {
  const AggregateWriter old = std::exchange(*this, {});
  if (old.count_ <= 1) return old.records_.substr(old.first_data_end_ - old.first_data_size_);
  const Md5 sum = Md5Of({old.keys_.bytes, old.hashes_.bytes, old.records_});
  std::string data;
  data.reserve(old.size());
  data += kAggregateMagic;
  data += old.keys_.bytes;
  data += old.hashes_.bytes;
  data += old.records_;
  data.append(sum.begin(), sum.end());
  return data;
}

}  // namespace weir::kinesis
