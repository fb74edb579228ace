#include "weir/sim/dynamodb/dynamo_write_units.h"

namespace weir::sim {
namespace {

PartitionRate PartitionRateOf(const DynamoWorld& world) {
  return {world.faults.range_writes, world.faults.burst};
}

std::string ResourceOf(const ItemWrite& write, const IndexSpec& index) {
  return write.table->spec().name + "/index/" + index.name;
}

const Item* PointerTo(const std::optional<Item>& image) { return image ? &*image : nullptr; }

std::optional<Item> EntryOfWrite(const ItemWrite& write, const IndexSpec& index,
                                 const Item* image) {
  return EntryOf(index, write.table->spec().key, image);
}

bool ChangesEntry(const ItemWrite& write, const IndexSpec& index, const ItemImages& images) {
  return EntryOfWrite(write, index, images.before) != EntryOfWrite(write, index, images.after);
}

// Returns the partition key of a global index that the write charges: that of the entry after the
// write, or before the write if the write removes the entry. A local index has none of its own: it
// shares the units of the table's partition key.
std::optional<PartitionKey> PartitionOf(const ItemWrite& write, const IndexSpec& index,
                                        const ItemImages& images) {
  if (index.local) return std::nullopt;
  for (const Item* image : {images.after, images.before}) {
    const auto key = image == nullptr ? std::nullopt : KeyIn(*image, index.key);
    if (key) return PartitionKey{ResourceOf(write, index), key->partition};
  }
  return std::nullopt;
}

void ConsumeUnits(DynamoWorld& world, const ItemWrite& write, const WriteCost& cost,
                  const ItemImages& images) {
  if (world.faults.range_writes <= 0) return;
  double of_table = cost.table;
  for (const IndexSpec& index : write.table->spec().indexes) {
    const auto units = cost.indexes.find(index.name);
    if (units == cost.indexes.end()) continue;
    const auto key = PartitionOf(write, index, images);
    if (key) {
      world.partitions.Consume(*key, units->second, PartitionRateOf(world), world.clock.Now());
    } else {
      of_table += units->second;
    }
  }
  const PartitionKey key{write.table->spec().name, write.key.partition};
  world.partitions.Consume(key, of_table, PartitionRateOf(world), world.clock.Now());
}

}  // namespace

std::optional<SpentPartition> FindSpentTablePartition(DynamoWorld& world, const ItemWrite& write) {
  if (world.faults.range_writes <= 0) return std::nullopt;
  const std::string& table = write.table->spec().name;
  const PartitionKey key{table, write.key.partition};
  if (world.partitions.HasUnits(key, PartitionRateOf(world), world.clock.Now()))
    return std::nullopt;
  ++world.counts.throttled_ranges;
  return SpentPartition{"TableWriteKeyRangeThroughputExceeded", table};
}

std::optional<SpentPartition> FindSpentIndexPartition(DynamoWorld& world, const ItemWrite& write,
                                                      const std::optional<Item>& after) {
  if (world.faults.range_writes <= 0) return std::nullopt;
  const ItemImages images{write.table->Find(write.key), PointerTo(after)};
  for (const IndexSpec& index : write.table->spec().indexes) {
    if (!ChangesEntry(write, index, images)) continue;
    const auto key = PartitionOf(write, index, images);
    if (!key || world.partitions.HasUnits(*key, PartitionRateOf(world), world.clock.Now()))
      continue;
    ++world.counts.throttled_indexes;
    return SpentPartition{"IndexWriteKeyRangeThroughputExceeded", key->resource};
  }
  return std::nullopt;
}

void ApplyWrite(DynamoWorld& world, const ItemWrite& write, const ItemChange& change,
                ConsumptionReport& report) {
  const Item* found = write.table->Find(write.key);
  const std::optional<Item> before = found == nullptr ? std::nullopt : std::optional(*found);
  const WriteCost cost =
      write.table->Write(write.key, change.after, change.lag).Times(change.price);
  report.AddWrite(write.table->spec().name, cost);
  ConsumeUnits(world, write, cost, {PointerTo(before), PointerTo(change.after)});
}

void ChargeUnchanged(DynamoWorld& world, const ItemWrite& write, ConsumptionReport& report,
                     double price) {
  const WriteCost cost{write.table->CostOfNothing(write.key) * price, {}};
  report.AddWrite(write.table->spec().name, cost);
  ConsumeUnits(world, write, cost, {});
}

}  // namespace weir::sim
