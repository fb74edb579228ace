#include "weir/sim/dynamodb/dynamo_table.h"

#include <algorithm>
#include <utility>

namespace weir::sim {
namespace {

constexpr std::size_t kLargestItem = 400 * 1024;
constexpr std::size_t kLongestPartitionKey = 2048;
constexpr std::size_t kLongestSortKey = 1024;
constexpr std::int64_t kFiveYearsInSeconds = 5 * 365 * std::int64_t{86'400};

const Item* ToPointer(const std::optional<Item>& item) { return item ? &*item : nullptr; }

std::size_t SizeOfAny(const std::optional<Item>& item) { return item ? SizeOf(*item) : 0; }

tl::unexpected<Error> SchemaMismatch() {
  return BadRequest("The provided key element does not match the schema");
}

bool IsEmptyText(const Value& value) {
  const auto* text = value.As<std::string>();
  return text != nullptr && text->empty();
}

}  // namespace

double WriteCost::Total() const {
  double total = table;
  for (const auto& [name, units] : indexes) total += units;
  return total;
}

WriteCost WriteCost::Times(double factor) const {
  WriteCost product = *this;
  product.table *= factor;
  for (auto& [index, units] : product.indexes) units *= factor;
  return product;
}

DynamoTable::DynamoTable(TableSpec spec, const Clock& clock)
    : spec_(std::move(spec)), clock_(clock) {
  for (const IndexSpec& index : spec_.indexes) indexes_.emplace_back(index, spec_.key);
}

Result<ItemKey> DynamoTable::ReadKey(const Item& attributes) const {
  if (attributes.size() != (spec_.key.sort.empty() ? 1U : 2U)) return SchemaMismatch();
  for (const auto& [name, value] : attributes) {
    if (name != spec_.key.partition && name != spec_.key.sort) return SchemaMismatch();
    if (value.type() != spec_.key_types.at(name)) return SchemaMismatch();
    WEIR_RETURN_IF_ERROR(CheckKeyPart(name, attributes, name == spec_.key.sort));
  }
  return *KeyIn(attributes, spec_.key);
}

Result<ItemKey> DynamoTable::CheckItem(const Item& item) const {
  WEIR_RETURN_IF_ERROR(CheckKeyPart(spec_.key.partition, item, false));
  if (!spec_.key.sort.empty()) WEIR_RETURN_IF_ERROR(CheckKeyPart(spec_.key.sort, item, true));
  WEIR_RETURN_IF_ERROR(CheckIndexKeys(item));
  if (SizeOf(item) > kLargestItem)
    return BadRequest("Item size has exceeded the maximum allowed size");
  return *KeyIn(item, spec_.key);
}

Status DynamoTable::CheckKeyPart(const std::string& name, const Item& item, bool is_sort) const {
  const auto found = item.find(name);
  if (found == item.end()) {
    return BadRequest("One or more parameter values were invalid: Missing the key " + name +
                      " in the item");
  }
  const ValueType expected = spec_.key_types.at(name);
  if (found->second.type() != expected) {
    return BadRequest("One or more parameter values were invalid: Type mismatch for key " + name +
                      " expected: " + std::string(Name(expected)) +
                      " actual: " + std::string(Name(found->second.type())));
  }
  if (IsEmptyText(found->second)) {
    return BadRequest(
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot "
        "contain an empty string value. Key: " +
        name);
  }
  const std::size_t longest = is_sort ? kLongestSortKey : kLongestPartitionKey;
  if (SizeOf(found->second) > longest) {
    return BadRequest("One or more parameter values were invalid: Size of " +
                      std::string(is_sort ? "rangekey" : "hashkey") +
                      " has exceeded the maximum size limit of " + std::to_string(longest) +
                      " bytes");
  }
  return {};
}

Status DynamoTable::CheckIndexKeys(const Item& item) const {
  for (const IndexSpec& index : spec_.indexes) {
    for (const std::string& name : {index.key.partition, index.key.sort}) {
      const auto found = item.find(name);
      if (found == item.end()) continue;
      const ValueType expected = spec_.key_types.at(name);
      if (found->second.type() != expected) {
        return BadRequest(
            "One or more parameter values were invalid: Type mismatch for Index Key " + name +
            " Expected: " + std::string(Name(expected)) +
            " Actual: " + std::string(Name(found->second.type())) + " IndexName: " + index.name);
      }
      if (IsEmptyText(found->second)) {
        return BadRequest(
            "One or more parameter values are not valid. A value specified for a secondary index "
            "key is not supported. The AttributeValue for a key attribute cannot contain an empty "
            "string value. IndexName: " +
            index.name + ", IndexKey: " + name);
      }
    }
  }
  return {};
}

const Item* DynamoTable::Find(const ItemKey& key) const {
  const StoredItem* stored = FindStored(key);
  return stored == nullptr ? nullptr : ToPointer(stored->now);
}

const StoredItem* DynamoTable::FindStored(const ItemKey& key) const {
  const auto found = items_.find(key);
  return found == items_.end() ? nullptr : &found->second;
}

// AWS charges a write by the larger of the two images.
WriteCost DynamoTable::Write(const ItemKey& key, std::optional<Item> item, nanoseconds lag,
                             bool by_ttl) {
  StoredItem& stored = items_[key];
  stored.before = std::exchange(stored.now, std::move(item));
  stored.written = clock_.Now();

  WriteCost cost;
  cost.table = WriteUnits(std::max(SizeOfAny(stored.before), SizeOfAny(stored.now)));
  for (DynamoIndex& index : indexes_) {
    const ItemImages images{ToPointer(stored.before), ToPointer(stored.now)};
    const double units = index.Write(key, images, stored.written, lag);
    if (units > 0) cost.indexes.emplace(index.spec().name, units);
  }
  // A write that leaves the item unchanged has no stream record.
  if (spec_.stream && stored.before != stored.now) {
    StreamRecord record{.sequence = stream_.size() + 1, .key = {}, .at = clock_.WallNow()};
    CopyKey(stored.now ? *stored.now : *stored.before, spec_.key, record.key);
    record.before = stored.before;
    record.after = stored.now;
    record.by_ttl = by_ttl;
    record.request = request;
    stream_.push_back(std::move(record));
  }
  return cost;
}

double DynamoTable::CostOfNothing(const ItemKey& key) const {
  const Item* item = Find(key);
  return WriteUnits(item == nullptr ? 0 : SizeOf(*item));
}

std::size_t DynamoTable::CountItems() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      items_, [](const auto& entry) { return entry.second.now.has_value(); }));
}

DynamoIndex* DynamoTable::FindIndex(std::string_view name) {
  const auto found =
      std::ranges::find(indexes_, name, [](const DynamoIndex& index) { return index.spec().name; });
  return found == indexes_.end() ? nullptr : &*found;
}

// AWS never expires an item whose ttl is more than five years in the past.
bool DynamoTable::IsExpired(const Item& item, std::int64_t now_seconds) const {
  const auto found = item.find(ttl_attribute);
  const auto* number = found == item.end() ? nullptr : found->second.As<Decimal>();
  if (number == nullptr) return false;
  return *number < Decimal(now_seconds) && *number > Decimal(now_seconds - kFiveYearsInSeconds);
}

std::size_t DynamoTable::SweepTtl() {
  if (ttl_attribute.empty()) return 0;
  const std::int64_t now_seconds = clock_.WallNow().value / 1000;
  std::vector<ItemKey> expired;
  for (const auto& [key, stored] : items_) {
    if (stored.now && IsExpired(*stored.now, now_seconds)) expired.push_back(key);
  }
  // The lag is 0: the delay of a sweep is simulated by when the test calls it.
  for (const ItemKey& key : expired) Write(key, std::nullopt, nanoseconds(0), true);
  return expired.size();
}

}  // namespace weir::sim
