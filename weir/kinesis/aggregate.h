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

namespace weir::kinesis {

inline constexpr std::string_view kAggregateMagic = "\xF3\x89\x9A\xC2";
inline constexpr std::size_t kAggregateFrame = 4 + 16;  ///< bytes around the message
/// The partition key of an aggregate; where it goes is said by its explicit hash key.
inline constexpr std::string_view kAggregateKey = "a";

/// What a producer was given. The views belong to somebody else.
struct UserRecordView {
  std::string_view partition_key;
  std::optional<std::string_view> explicit_hash_key;  ///< decimal, without leading zeros
  std::string_view data;

  friend bool operator==(const UserRecordView&, const UserRecordView&) = default;
};

/// Writes user records, copying them, and knows at each moment how long the data of the Kinesis
/// record would be, to the byte.
class AggregateWriter {
 public:
  void Add(const UserRecordView& record);
  std::size_t count() const { return count_; }
  /// Of the data as Take would return it.
  std::size_t size() const { return SizeOf(count_, message_size()); }
  /// The same, with this record added.
  std::size_t SizeWith(const UserRecordView& record) const;
  /// The data of the Kinesis record: empty without records, one alone as it was given. Leaves the
  /// writer empty.
  std::string Take();

 private:
  /// Strings of one table, serialized, and where each one stands.
  struct Table {
    struct Hash {
      using is_transparent = void;
      std::size_t operator()(std::string_view text) const {
        return std::hash<std::string_view>{}(text);
      }
    };

    std::string bytes;
    absl::flat_hash_map<std::string, std::uint64_t, Hash, std::equal_to<>> places;

    /// Where the text stands or would be put, and what putting it there costs.
    std::uint64_t PlaceOf(std::string_view text) const;
    std::size_t CostOf(std::string_view text) const;
    std::uint64_t Put(char tag, std::string_view text);
  };

  std::size_t SizeOf(std::size_t count, std::size_t message) const;
  std::size_t message_size() const {
    return keys_.bytes.size() + hashes_.bytes.size() + records_.size();
  }
  std::size_t BodySize(const UserRecordView& record) const;

  Table keys_;
  Table hashes_;
  std::string records_;
  std::size_t count_ = 0;
  std::size_t first_data_ = 0;  // bytes of the first record's data, which end where it ends ...
  std::size_t first_end_ = 0;   // ... in records_
};

}  // namespace weir::kinesis
