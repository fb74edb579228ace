// The stream of a simulated table, divided into shards that split.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "weir/aggregator/testing/change_fixture.h"
#include "weir/base/rng.h"

namespace weir::dynamo {

/// The records of an item are in one shard until that splits, and then in one of its children.
class ChangeStream {
 public:
  explicit ChangeStream(const sim::DynamoTable& table) : table_(table) { shards_["0"]; }

  struct Shard {
    std::string parent;
    bool closed = false;  ///< it gets no more records
    std::vector<ChangeRecord> records;
  };
  /// Adds the table's new records to the open shards.
  void Update();
  /// Closes one open shard, which gets two children.
  void Split(Rng& rng);
  const std::map<std::string, Shard>& shards() const { return shards_; }

 private:
  // Returns the open shard of an item. The name of a shard is the path of splits to it.
  Shard& ShardOf(const Item& keys);

  const sim::DynamoTable& table_;
  std::size_t read_ = 0;
  std::map<std::string, Shard> shards_;
};

}  // namespace weir::dynamo
