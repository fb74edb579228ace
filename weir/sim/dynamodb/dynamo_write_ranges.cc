// The ranges of partition keys that a write consumes units of.

#include "weir/sim/dynamodb/dynamo_write.h"

namespace weir::sim {
namespace {

RangeTerms RangeTermsOf(const DynamoWorld& world) {
  return {world.faults.range_writes, world.faults.burst};
}

std::string ResourceOf(const ItemWrite& write, const IndexSpec& index) {
  return write.table->spec().name + "/index/" + index.name;
}

// Returns the range of an index that an image is stored in. A local index shares the table's range.
std::optional<KeyRange> RangeIn(const ItemWrite& write, const IndexSpec& index,
                                const std::optional<Item>& image) {
  if (index.local || !image) return std::nullopt;
  const auto key = KeyIn(*image, index.key);
  if (!key) return std::nullopt;
  return KeyRange{ResourceOf(write, index), key->partition};
}

// An entry with keys only changes only if its keys do. An index with kInclude is treated alike.
bool IsWritten(const IndexSpec& index, const std::optional<Item>& before,
               const std::optional<Item>& after) {
  if (index.projection == IndexSpec::Projection::kAll) return before != after;
  const auto key_in = [&](const std::optional<Item>& image) {
    return image ? KeyIn(*image, index.key) : std::nullopt;
  };
  return key_in(before) != key_in(after);
}

}  // namespace

std::optional<SpentRange> FindSpentTableRange(DynamoWorld& world, const ItemWrite& write) {
  if (world.faults.range_writes <= 0) return std::nullopt;
  const std::string& table = write.table->spec().name;
  const KeyRange range{table, write.key.partition};
  if (world.ranges.HasUnits(range, RangeTermsOf(world), world.clock.Now())) return std::nullopt;
  ++world.counts.throttled_ranges;
  return SpentRange{"TableWriteKeyRangeThroughputExceeded", table};
}

std::optional<SpentRange> FindSpentIndexRange(DynamoWorld& world, const ItemWrite& write,
                                              const std::optional<Item>& after) {
  if (world.faults.range_writes <= 0) return std::nullopt;
  const Item* there = write.table->Find(write.key);
  const auto before = there == nullptr ? std::nullopt : std::optional(*there);
  for (const IndexSpec& index : write.table->spec().indexes) {
    if (!IsWritten(index, before, after)) continue;
    const auto range = RangeIn(write, index, after ? after : before);
    if (!range || world.ranges.HasUnits(*range, RangeTermsOf(world), world.clock.Now())) continue;
    ++world.counts.throttled_indexes;
    return SpentRange{"IndexWriteKeyRangeThroughputExceeded", range->first};
  }
  return std::nullopt;
}

void ConsumeRanges(DynamoWorld& world, const ItemWrite& write, const WriteCost& cost,
                   const std::optional<Item>& image, double times) {
  if (world.faults.range_writes <= 0) return;
  double of_table = cost.table;
  for (const IndexSpec& index : write.table->spec().indexes) {
    const auto units = cost.indexes.find(index.name);
    if (units == cost.indexes.end()) continue;
    const auto range = RangeIn(write, index, image);
    if (range) {
      world.ranges.Consume(*range, units->second * times, RangeTermsOf(world), world.clock.Now());
    } else if (index.local) {
      of_table += units->second;
    }
  }
  const KeyRange range{write.table->spec().name, write.key.partition};
  world.ranges.Consume(range, of_table * times, RangeTermsOf(world), world.clock.Now());
}

}  // namespace weir::sim
