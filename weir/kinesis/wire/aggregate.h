// Many user records in one Kinesis record, as the Kinesis Producer Library writes them.
//
// Format (awslabs/amazon-kinesis-producer, aggregation-format.md): F3 89 9A C2, a protobuf message
// AggregatedRecord, and the MD5 of that message. AggregatedRecord: 1 repeated string
// partition_key_table, 2 repeated string explicit_hash_key_table, 3 repeated Record. Record: 1
// partition_key_index, 2 optional explicit_hash_key_index, 3 data. Tables hold each string once, in
// the order of first use. One user record alone is not framed.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "weir/bucket/key_hash.h"

namespace weir::kinesis {

inline constexpr std::string_view kAggregateMagic = "\xF3\x89\x9A\xC2";
inline constexpr std::size_t kAggregateFrame = 4 + 16;  ///< bytes around the message
/// The partition key of an aggregate, whose explicit hash key decides its shard. In mode
/// kByPartitionKey (AggregatorOptions) an aggregate has the keys of its records instead.
inline constexpr std::string_view kAggregateKey = "a";

/// The parts of a user record. The views do not own their text.
struct UserRecordView {
  std::string_view partition_key;
  std::optional<std::string_view> explicit_hash_key;  ///< decimal, without leading zeros
  std::string_view data;

  friend bool operator==(const UserRecordView&, const UserRecordView&) = default;
};

/// Writes user records into the data of one Kinesis record. Copies them. The size of the data is
/// known to the byte after each record. Not thread-safe.
class AggregateWriter {
 public:
  void Add(const UserRecordView& record);
  std::size_t count() const { return count_; }
  /// Returns the size of the data that Take would return.
  std::size_t size() const { return SizeOf(count_, message_size()); }
  /// Returns the size that the data would have with this record added.
  std::size_t SizeWith(const UserRecordView& record) const;
  /// Returns the data of the Kinesis record and leaves the writer empty. The data of a single user
  /// record are returned as they were added; without records the result is empty.
  std::string Take();

 private:
  /// The strings of one table, serialized, and the index of each.
  struct Table {
    struct Hash {
      using is_transparent = void;
      std::size_t operator()(std::string_view text) const {
        return HashBytes(text, SecretOfProcess());
      }
    };

    std::string bytes;
    absl::flat_hash_map<std::string, std::uint64_t, Hash, std::equal_to<>> indexes;

    /// Returns the index of the text in the table, or the index that it would get.
    std::uint64_t IndexOf(std::string_view text) const;
    /// Returns the number of bytes that adding the text would take; 0 if the table has it.
    std::size_t CostOf(std::string_view text) const;
    /// Adds the text if the table does not have it. Returns its index.
    std::uint64_t Put(char tag, std::string_view text);
  };

  /// Returns the size of the data of `count` records whose message has `message_bytes` bytes.
  std::size_t SizeOf(std::size_t count, std::size_t message_bytes) const;
  std::size_t message_size() const {
    return keys_.bytes.size() + hashes_.bytes.size() + records_.size();
  }
  /// Returns the size of the message Record of this record, without its tag and length.
  std::size_t BodySize(const UserRecordView& record) const;

  Table keys_;
  Table hashes_;
  std::string records_;
  std::size_t count_ = 0;
  std::size_t first_data_size_ = 0;  // size of the first record's data
  std::size_t first_data_end_ = 0;   // offset in records_ of the end of that data
};

}  // namespace weir::kinesis
