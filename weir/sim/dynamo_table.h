// One table of the simulated DynamoDB: items, indexes, stream, ttl, and what writes cost.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/sim/dynamo_index.h"
#include "weir/sim/dynamo_key.h"
#include "weir/sim/dynamo_value.h"

namespace weir::sim {

struct TableSpec {
  std::string name;
  KeyNames key;
  std::map<std::string, ValueType> key_types;  ///< of every attribute that is in some key
  std::vector<IndexSpec> indexes;
  bool stream = false;  ///< of old and new images
};

struct StoredItem {
  std::optional<Item> now;     ///< nothing: deleted
  std::optional<Item> before;  ///< its last write; nothing: it was not there
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
  std::map<std::string, double> indexes;  ///< only those that the write changed
  double Total() const;
};

/// A value of its own: not shared, not thread-safe. The clock must outlive it.
class DynamoTable {
 public:
  DynamoTable(TableSpec spec, const Clock& clock);

  const TableSpec& spec() const { return spec_; }
  /// The key that `attributes` are, all and nothing else. kInvalidArgument in AWS's words.
  Result<ItemKey> ReadKey(const Item& attributes) const;
  /// The key of a whole item. Refuses, in AWS's words, what no item may be: key attributes missing,
  /// empty, too long or of another type, those of indexes too, or more than 400 KB.
  Result<ItemKey> CheckItem(const Item& item) const;

  /// Null if it is not there.
  const Item* Find(const ItemKey& key) const;
  /// Null if it never was there.
  const StoredItem* FindStored(const ItemKey& key) const;
  /// Puts an item there, or deletes it; its index entries show it after `lag`.
  WriteCost Write(const ItemKey& key, std::optional<Item> item, nanoseconds lag,
                  bool by_ttl = false);
  /// What Write would cost the table alone if it left the item as it is.
  double CostOfNothing(const ItemKey& key) const;

  const std::map<ItemKey, StoredItem>& items() const { return items_; }
  std::size_t CountItems() const;
  /// Null if there is none of that name.
  DynamoIndex* FindIndex(std::string_view name);
  /// Empty unless the spec asks for one. A write that changes nothing leaves no record.
  const std::vector<StreamRecord>& stream() const { return stream_; }
  /// Deletes what SimDynamo::SweepTtl says.
  std::size_t SweepTtl();

  std::uint64_t request = 0;  ///< numbers the request that is being handled
  std::string ttl_attribute;  ///< empty: off
  bool backups = false;       ///< point in time recovery
  int backup_days = 35;

 private:
  Status CheckKeyPart(const std::string& name, const Item& item, bool is_sort) const;
  Status CheckIndexKeys(const Item& item) const;
  bool IsExpired(const Item& item, std::int64_t now_seconds) const;

  TableSpec spec_;
  const Clock& clock_;
  std::map<ItemKey, StoredItem> items_;
  std::vector<DynamoIndex> indexes_;
  std::vector<StreamRecord> stream_;
};

}  // namespace weir::sim
