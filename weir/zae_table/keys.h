// The keys of each record: partition and sort keys, and the keys of the indexes.
//
// Layout: zae-limiter 0.17.0 (its schema.py): one table with the keys PK and SK and the indexes
// GSI1 to GSI4. A namespace is an opaque id; `_` is the namespace of the table's own records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/dynamodb/table_key.h"
#include "weir/dynamodb/value.h"
#include "weir/store/bucket/charge.h"
#include "weir/store/config/config_store.h"

namespace weir::dynamo {

/// Like the functions of weir/dynamodb/table_key.h, but with the key names of this table.
Item ToItem(const TableKey& key);
TableKey KeyOf(const Item& item);

/// Builds the keys of one namespace. A value.
class Keys {
 public:
  explicit Keys(std::string namespace_id) : ns_(std::move(namespace_id)) {}

  const std::string& namespace_id() const { return ns_; }

  TableKey Entity(std::string_view entity) const;
  TableKey Bucket(const BucketKey& bucket) const;
  TableKey Config(const Level& level) const;
  TableKey ResourceRegistry() const;
  TableKey EntityConfigRegistry() const;
  TableKey AuditEvent(std::string_view subject, std::string_view event_id) const;

  /// Partitions that are queried as a whole.
  std::string SystemPartition() const;
  std::string EntityPartition(std::string_view entity) const;
  std::string AuditPartition(std::string_view subject) const;

  /// Partitions of the indexes.
  std::string ChildrenOf(std::string_view parent) const;            ///< GSI1
  std::string OfResource(std::string_view resource) const;          ///< GSI2
  std::string BucketsOf(std::string_view entity) const;             ///< GSI3
  std::string EntitiesWithConfig(std::string_view resource) const;  ///< GSI3

  /// Returns the attributes PK, SK, GSI2*, GSI3*, GSI4* of a bucket's item.
  Item BucketIndexes(const BucketKey& bucket) const;

 private:
  std::string Partition(std::string_view kind, std::string_view name) const;

  std::string ns_;
};

/// Returns the bucket that a partition key of any namespace identifies; nothing if the key
/// identifies no bucket. The entity ends at the first '#', the shard begins after the last.
std::optional<BucketKey> ParseBucketPartition(std::string_view pk);

/// The records of the table itself, in namespace `_`.
inline constexpr std::string_view kTableNamespace = "_";
TableKey VersionRecord();
TableKey NamespaceForward(std::string_view name);
TableKey NamespaceReverse(std::string_view id);

inline constexpr std::string_view kBucketSort = "#STATE";
inline constexpr std::string_view kEntitySort = "#META";
/// The resource in the key of an entity's default limits.
inline constexpr std::string_view kDefaultResource = "_default_";

}  // namespace weir::dynamo
