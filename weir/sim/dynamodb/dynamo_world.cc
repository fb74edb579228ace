#include "weir/sim/dynamodb/dynamo_world.h"

#include <algorithm>
#include <utility>

namespace weir::sim {

using nlohmann::json;

DynamoTable& DynamoWorld::Table(const std::string& name) {
  const auto found = tables.find(name);
  if (found == tables.end() || clock.Now() < found->second.ready) {
    throw Refusal{.type = "ResourceNotFoundException", .message = "Requested resource not found"};
  }
  return found->second.table;
}

const Item* DynamoWorld::View(const StoredItem& stored, bool consistent) {
  const bool fresh_write = clock.Now() - stored.written <= faults.longest_staleness;
  const bool stale = !consistent && rng.Chance(faults.stale_read) && fresh_write;
  if (stale) ++counts.stale_reads;
  const std::optional<Item>& image = stale ? stored.before : stored.now;
  return image ? &*image : nullptr;
}

const Item* DynamoWorld::View(const DynamoTable& table, const ItemKey& key, bool consistent) {
  const StoredItem* stored = table.FindStored(key);
  if (stored != nullptr) return View(*stored, consistent);
  // A missing item makes the same draw as an existing one.
  if (!consistent) rng.Chance(faults.stale_read);
  return nullptr;
}

void RefuseForThroughput(const std::string& reason, const std::string& resource) {
  Refusal refusal{
      .type = "ProvisionedThroughputExceededException",
      .message =
          "The level of configured provisioned throughput for the table was exceeded. Consider "
          "increasing your provisioning level with the UpdateTable API."};
  if (!reason.empty()) {
    refusal.more["ThrottlingReasons"].push_back(
        {{"reason", reason},
         {"resource", "arn:aws:dynamodb:eu-west-1:000000000000:table/" + resource}});
  }
  throw refusal;
}

}  // namespace weir::sim
