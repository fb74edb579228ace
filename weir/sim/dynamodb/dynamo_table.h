// One table of the simulated DynamoDB: items, indexes, stream, ttl, and the cost of writes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/sim/dynamodb/dynamo_index.h"
#include "weir/sim/dynamodb/expression/dynamo_key.h"
#include "weir/sim/dynamodb/expression/dynamo_value.h"

namespace weir::sim {

struct TableSpec {
  std::string name;
  KeyNames key;
  std::map<std::string, ValueType> key_types;  ///< the types of the key attributes, also of indexes
  std::vector<IndexSpec> indexes;
  bool stream = false;  ///< has a stream of old and new images
};

struct StoredItem {
  std::optional<Item> now;     ///< nothing: deleted
  std::optional<Item> before;  ///< before its last write; nothing: it did not exist
  Instant written;
};

struct StreamRecord {
  std::uint64_t sequence = 0;
  Item key;
  std::optional<Item> before;
  std::optional<Item> after;
  UnixMillis at;
  bool by_ttl = false;
  std::uint64_t request = 0;  ///< DynamoTable::request at the write
};

struct WriteCost {
  double table = 0;
  std::map<std::string, double> indexes;  ///< the indexes that the write changed
  double Total() const;
  WriteCost Times(double factor) const;
};

/// Not thread-safe. The clock must outlive it.
class DynamoTable {
 public:
  DynamoTable(TableSpec spec, const Clock& clock);

  const TableSpec& spec() const { return spec_; }
  /// Returns the key that `attributes` form. Returns kInvalidArgument, with AWS's message, if they
  /// are not exactly the attributes of the key.
  Result<ItemKey> ReadKey(const Item& attributes) const;
  /// Checks a whole item and returns its key. Refuses, with AWS's message, an item with key
  /// attributes that are missing, empty, too long or of another type, also those of indexes, and an
  /// item of more than 400 KB.
  Result<ItemKey> CheckItem(const Item& item) const;

  /// Returns null if the item does not exist.
  const Item* Find(const ItemKey& key) const;
  /// Returns null if the item never existed.
  const StoredItem* FindStored(const ItemKey& key) const;
  /// Stores an item, or deletes it. The indexes show the change after `lag`.
  WriteCost Write(const ItemKey& key, std::optional<Item> item, nanoseconds lag,
                  bool by_ttl = false);
  /// Returns the cost, for the table alone, of a write that leaves the item unchanged.
  double CostOfNothing(const ItemKey& key) const;

  const std::map<ItemKey, StoredItem>& items() const { return items_; }
  std::size_t CountItems() const;
  /// Returns null if no index has that name.
  DynamoIndex* FindIndex(std::string_view name);
  /// Returns the records of the stream, or none if the spec has no stream. A write that changes
  /// nothing adds no record.
  const std::vector<StreamRecord>& stream() const { return stream_; }
  /// Deletes the expired items. See SimDynamo::SweepTtl.
  std::size_t SweepTtl();

  std::uint64_t request = 0;  ///< the number of the request that is being handled
  std::string ttl_attribute;  ///< empty if ttl is disabled
  bool backups = false;       ///< point in time recovery is enabled
  int backup_days = 35;

 private:
  Status CheckKeyPart(const std::string& name, const Item& item, bool is_sort) const;
  // Checks the attributes of `item` that are keys of an index.
  Status CheckIndexKeys(const Item& item) const;
  // Returns whether the item's ttl has passed, by less than five years.
  bool IsExpired(const Item& item, std::int64_t now_seconds) const;

  TableSpec spec_;
  const Clock& clock_;
  std::map<ItemKey, StoredItem> items_;
  std::vector<DynamoIndex> indexes_;
  std::vector<StreamRecord> stream_;
};

}  // namespace weir::sim
