// What a consumer makes of stored records: the rules of awslabs/amazon-kinesis-client
// (AggregatorUtil), read by a decoder of this room's own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/sim/kinesis_hash.h"

namespace weir::sim {

/// One user record, as an application is given it.
struct Delivery {
  std::string shard{};
  std::string sequence_number{};              ///< of its Kinesis record
  std::optional<std::uint64_t> sub_number{};  ///< its place in an aggregate
  std::string partition_key;
  std::optional<std::string> explicit_hash_key{};  ///< of one in an aggregate
  std::string data;

  friend bool operator==(const Delivery&, const Delivery&) = default;
};

/// A Kinesis record as GetRecords returns it, and the shard that it was read from.
struct ReadRecord {
  std::string shard;
  HashSpan range;  ///< of the shard
  std::string sequence_number;
  std::string partition_key;
  std::string data;
};

/// A record that is no aggregate is delivered as it is. Of an aggregate (magic, a message that
/// parses, its MD5) everything; nothing at all if one hash in it lies outside of the shard's range;
/// where an index is beyond its table, what stands before it.
std::vector<Delivery> Deliver(const ReadRecord& record);

}  // namespace weir::sim
