// weir resource capacity: the tokens of all entities on a resource.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/weir/commands/group/group_verbs.h"
#include "apps/weir/options.h"
#include "apps/weir/resource_capacity.h"
#include "apps/weir/terminal/listing.h"
#include "weir/model/identifier.h"
#include "weir/runtime/await.h"

namespace weir::app {
namespace {

constexpr std::size_t kMaxAtOnce = 100;

struct CapacityOptions {
  std::string resource;
  bool parents_only = false;
};

/// Calls `read` with at most kMaxAtOnce of the elements at a time.
template <class T, class Read>
Status InParts(std::span<const T> all, Read read) {
  for (std::size_t from = 0; from < all.size(); from += kMaxAtOnce) {
    WEIR_RETURN_IF_ERROR(read(all.subspan(from, std::min(kMaxAtOnce, all.size() - from))));
  }
  return {};
}

/// Replaces the shards of each divided bucket by the whole bucket.
Result<std::vector<BucketRecord>> JoinDivided(std::vector<BucketRecord> records, Context& context,
                                              BucketStore& store) {
  std::set<BucketKey> divided;
  for (std::size_t i = 0; i < records.size(); ++i) {
    BucketKey key = records[i].key;
    const bool has_more = i + 1 < records.size() && records[i + 1].key.entity == key.entity;
    if (std::exchange(key.shard, 0) != 0 || has_more) divided.insert(std::move(key));
  }
  std::erase_if(records, [&](const BucketRecord& record) {
    return divided.contains({record.key.entity, record.key.resource});
  });
  const std::vector<BucketKey> keys(divided.begin(), divided.end());
  WEIR_RETURN_IF_ERROR(InParts(std::span(keys), [&](std::span<const BucketKey> part) -> Status {
    using Records = std::vector<std::optional<BucketRecord>>;
    WEIR_ASSIGN_OR_RETURN(Records whole, Await<Records>([&](auto done) {
                            store.Read(part, context.StoreDeadline(), std::move(done));
                          }));
    for (std::optional<BucketRecord>& record : whole) {
      if (record) records.push_back(*std::move(record));
    }
    return {};
  }));
  return records;
}

/// Removes the buckets of entities that have a parent.
Status KeepParents(std::vector<BucketRecord>& records, Context& context, ConfigStore& store) {
  std::vector<std::string> ids;
  ids.reserve(records.size());
  for (const BucketRecord& record : records) ids.push_back(record.key.entity);
  std::set<std::string> children;
  WEIR_RETURN_IF_ERROR(InParts(std::span(std::as_const(ids)), [&](auto part) -> Status {
    using Entities = std::vector<std::optional<EntityRecord>>;
    WEIR_ASSIGN_OR_RETURN(const Entities found, Await<Entities>([&](auto done) {
                            store.GetEntities(part, context.StoreDeadline(), std::move(done));
                          }));
    for (const std::optional<EntityRecord>& record : found) {
      if (record && record->entity.parent) children.insert(record->entity.id);
    }
    return {};
  }));
  std::erase_if(records,
                [&](const BucketRecord& record) { return children.contains(record.key.entity); });
  return {};
}

Result<Exit> ShowCapacity(const CapacityOptions& options, Context& context, Backend& backend) {
  const BucketFilter filter{.entity = {}, .resource = options.resource};
  WEIR_ASSIGN_OR_RETURN(
      std::vector<BucketRecord> records,
      ListBuckets(backend.buckets(), filter, context.RequestDeadlines(), &context.left_out()));
  WEIR_ASSIGN_OR_RETURN(records, JoinDivided(std::move(records), context, backend.buckets()));
  if (options.parents_only) {
    WEIR_RETURN_IF_ERROR(KeepParents(records, context, backend.config()));
  }
  ResourceCapacity sums{.resource = options.resource, .at = backend.buckets().Now()};
  for (const BucketRecord& record : records) WEIR_RETURN_IF_ERROR(Add(sums, record));
  context.WriteResult(app::ToJson(sums), app::TextOf(sums));
  // The sums lack a bucket that cannot be read.
  return context.IsComplete(Context::Records::kBuckets) ? Exit::kDone : Exit::kFailed;
}

}  // namespace

void AddResourceCapacity(CLI::App& group, Action& chosen) {
  auto options = std::make_shared<CapacityOptions>();
  CLI::App& verb =
      AddVerb(group, "capacity", "Show the capacity and the tokens of all entities, and their sum",
              options, chosen, [](const CapacityOptions& given, Context& context) {
                return context.WithBackend(Access::kReadBuckets, [&](Backend& backend) {
                  return ShowCapacity(given, context, backend);
                });
              });
  AddParsed(verb, "RESOURCE", options->resource, Checked(CheckResource),
            "the resource of the buckets")
      ->required()
      ->option_text(" ");
  verb.add_flag(
      "--parents-only", options->parents_only,
      "only count entities without a parent, because a cascade charges a parent for its children");
}

}  // namespace weir::app
