// The shards of a table's stream in the simulated DynamoDB.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/time.h"
#include "weir/sim/dynamodb/dynamo_table.h"

namespace weir::sim {

/// A shard has the records whose partition key has a hash in its range, and whose number is in
/// [first, end). It is open until it is split or replaced.
struct DynamoShard {
  std::string id;
  std::string parent;  ///< empty: it has none
  std::uint32_t low = 0;
  std::uint32_t high = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t first = 1;
  std::optional<std::uint64_t> end{};
  UnixMillis closed{};  ///< when; only if it has an end

  bool Has(const StreamRecord& record, std::uint32_t hash) const;
};

/// A table and a position in its stream. The table must outlive it.
class DynamoStream {
 public:
  explicit DynamoStream(const KeyNames& key) : key_(key) { shards_.push_back({.id = NewId()}); }

  /// Closes an open shard and opens one child with its range, as AWS does every few hours, or two
  /// with half of it each. Does nothing if the shard is closed.
  void Replace(std::size_t index, bool split, const DynamoTable& table, UnixMillis now);
  const std::vector<DynamoShard>& shards() const { return shards_; }
  const DynamoShard* Find(std::string_view id) const;
  bool Contains(const DynamoShard& shard, const StreamRecord& record) const;

  /// Counts a read of a shard. Returns whether it is one of at most five in a second.
  bool CountRead(const std::string& shard, Instant now);

 private:
  std::string NewId();

  KeyNames key_;
  std::vector<DynamoShard> shards_;
  std::map<std::string, std::deque<Instant>> reads_;
};

/// Numbers of the wire: 22 digits.
std::string ToSequenceText(std::uint64_t number);
std::optional<std::uint64_t> ReadSequenceText(std::string_view text);

}  // namespace weir::sim
