#include "weir/zae_table/keys.h"

#include <fmt/compile.h>

#include "weir/base/integer_text.h"
#include "weir/zae_table/zae_layout.h"

namespace weir::dynamo {

Item ToItem(const TableKey& key) { return ToItem(key, ZaeLayout().keys); }

TableKey KeyOf(const Item& item) { return KeyOf(item, ZaeLayout().keys); }

std::string Keys::Partition(std::string_view kind, std::string_view name) const {
  return fmt::format("{}/{}#{}", ns_, kind, name);
}

TableKey Keys::Entity(std::string_view entity) const {
  return {EntityPartition(entity), std::string(kEntitySort)};
}

TableKey Keys::Bucket(const BucketKey& bucket) const {
  return {fmt::format(FMT_COMPILE("{}/BUCKET#{}#{}#{}"), ns_, bucket.entity, bucket.resource,
                      bucket.shard),
          std::string(kBucketSort)};
}

TableKey Keys::Config(const Level& level) const {
  switch (level.kind) {
    case Level::Kind::kSystem:
      return {SystemPartition(), "#CONFIG"};
    case Level::Kind::kResource:
      return {OfResource(level.resource), "#CONFIG"};
    case Level::Kind::kEntityDefault:
      return {EntityPartition(level.entity), fmt::format("#CONFIG#{}", kDefaultResource)};
    case Level::Kind::kEntity:
      return {EntityPartition(level.entity), fmt::format("#CONFIG#{}", level.resource)};
  }
  return {};
}

TableKey Keys::ResourceRegistry() const { return {SystemPartition(), "#RESOURCES"}; }

TableKey Keys::EntityConfigRegistry() const {
  return {SystemPartition(), "#ENTITY_CONFIG_RESOURCES"};
}

TableKey Keys::AuditEvent(std::string_view subject, std::string_view event_id) const {
  return {AuditPartition(subject), fmt::format("#AUDIT#{}", event_id)};
}

std::string Keys::SystemPartition() const { return Partition("SYSTEM", ""); }
std::string Keys::EntityPartition(std::string_view entity) const {
  return Partition("ENTITY", entity);
}
std::string Keys::AuditPartition(std::string_view subject) const {
  return Partition("AUDIT", subject);
}
std::string Keys::ChildrenOf(std::string_view parent) const { return Partition("PARENT", parent); }
std::string Keys::OfResource(std::string_view resource) const {
  return Partition("RESOURCE", resource);
}
std::string Keys::BucketsOf(std::string_view entity) const { return EntityPartition(entity); }
std::string Keys::EntitiesWithConfig(std::string_view resource) const {
  return Partition("ENTITY_CONFIG", resource);
}

Item Keys::BucketIndexes(const BucketKey& bucket) const {
  Item item = ToItem(Bucket(bucket));
  item.emplace("GSI2PK", Of(OfResource(bucket.resource)));
  item.emplace("GSI2SK", Of(fmt::format("BUCKET#{}#{}", bucket.entity, bucket.shard)));
  item.emplace("GSI3PK", Of(BucketsOf(bucket.entity)));
  item.emplace("GSI3SK", Of(fmt::format("BUCKET#{}#{}", bucket.resource, bucket.shard)));
  item.emplace("GSI4PK", Of(ns_));
  item.emplace("GSI4SK",
               Of(fmt::format("BUCKET#{}#{}#{}", bucket.entity, bucket.resource, bucket.shard)));
  return item;
}

std::optional<BucketKey> ParseBucketPartition(std::string_view pk) {
  constexpr std::string_view kMark = "BUCKET#";
  const std::size_t slash = pk.find('/');
  if (slash == pk.npos) return std::nullopt;
  std::string_view rest = pk.substr(slash + 1);
  if (!rest.starts_with(kMark)) return std::nullopt;
  rest.remove_prefix(kMark.size());
  const std::size_t first = rest.find('#');
  const std::size_t last = rest.rfind('#');
  if (first == rest.npos || first == last) return std::nullopt;
  BucketKey key{.entity = std::string(rest.substr(0, first)),
                .resource = std::string(rest.substr(first + 1, last - first - 1))};
  const auto shard = ReadInteger<std::uint32_t>(rest.substr(last + 1));
  if (!shard) return std::nullopt;
  key.shard = *shard;
  return key;
}

TableKey VersionRecord() { return {"_/SYSTEM#", "#VERSION"}; }
TableKey NamespaceForward(std::string_view name) {
  return {"_/SYSTEM#", fmt::format("#NAMESPACE#{}", name)};
}
TableKey NamespaceReverse(std::string_view id) {
  return {"_/SYSTEM#", fmt::format("#NSID#{}", id)};
}

}  // namespace weir::dynamo
