// The records that a consumer delivers for stored records, by the rules of
// awslabs/amazon-kinesis-client (AggregatorUtil). The decoder shares no code with weir/kinesis.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/sim/kinesis/kinesis_hash.h"

namespace weir::sim {

/// One user record, as an application receives it.
struct Delivery {
  std::string shard{};
  std::string sequence_number{};              ///< the sequence number of the Kinesis record
  std::optional<std::uint64_t> sub_number{};  ///< its index in an aggregate
  std::string partition_key;
  std::optional<std::string> explicit_hash_key{};  ///< only for a record of an aggregate
  std::string data;

  friend bool operator==(const Delivery&, const Delivery&) = default;
};

/// A Kinesis record as GetRecords returns it, and the shard that it was read from.
struct ReadRecord {
  std::string shard;
  HashSpan range;  ///< the range of the shard
  std::string sequence_number;
  std::string partition_key;
  std::string data;
};

/// Returns the user records of a Kinesis record. A record that is not an aggregate is delivered as
/// it is. An aggregate (magic, a message that parses, its MD5) delivers all its records; none if
/// the hash of one of them is outside the shard's range; and if an index is beyond its table, only
/// the records before that one.
std::vector<Delivery> Deliver(const ReadRecord& record);

}  // namespace weir::sim
