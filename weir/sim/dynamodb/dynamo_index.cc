#include "weir/sim/dynamodb/dynamo_index.h"

#include <algorithm>
#include <utility>

namespace weir::sim {

double WriteUnits(std::size_t bytes) {
  return static_cast<double>(std::max<std::size_t>(1, (bytes + 1023) / 1024));
}

// The index is sparse: an item without one of the index's key attributes has no entry.
std::optional<Item> EntryOf(const IndexSpec& index, const KeyNames& table_key, const Item* image) {
  if (image == nullptr || !KeyIn(*image, index.key)) return std::nullopt;
  if (index.projection == IndexSpec::Projection::kAll) return *image;
  Item entry;
  CopyKey(*image, table_key, entry);
  CopyKey(*image, index.key, entry);
  for (const std::string& name : index.included) {
    const auto found = image->find(name);
    if (found != image->end()) entry.insert(*found);
  }
  return entry;
}

// AWS charges one write for a new, removed or changed entry, and two if the entry moves: one to
// delete it at the old key and one to create it at the new key. A write that does not change the
// entry is free.
double DynamoIndex::Write(const ItemKey& item, ItemImages images, Instant now, nanoseconds lag) {
  const std::optional<Item> old_entry = EntryOf(spec_, table_key_, images.before);
  std::optional<Item> entry = EntryOf(spec_, table_key_, images.after);
  if (old_entry == entry) return 0;
  double units = 0;
  if (!old_entry || !entry) {
    units = WriteUnits(SizeOf(old_entry ? *old_entry : *entry));
  } else if (KeyIn(*old_entry, spec_.key) == KeyIn(*entry, spec_.key)) {
    units = WriteUnits(std::max(SizeOf(*old_entry), SizeOf(*entry)));
  } else {
    units = WriteUnits(SizeOf(*old_entry)) + WriteUnits(SizeOf(*entry));
  }
  EntriesAt(now);
  Instant visible = now + (spec_.local ? nanoseconds(0) : lag);
  // A change must not overtake an earlier change of the same item.
  for (const Change& change : pending_) {
    if (change.item == item) visible = std::max(visible, change.visible);
  }
  pending_.push_back({item, std::move(entry), visible});
  return units;
}

const Entries& DynamoIndex::EntriesAt(Instant now) {
  std::deque<Change> later;
  for (Change& change : pending_) {
    if (change.visible > now) {
      later.push_back(std::move(change));
      continue;
    }
    // An item has at most one entry: the new one replaces the old one, whatever its key.
    const auto old_position = positions_.find(change.item);
    if (old_position != positions_.end()) {
      entries_.erase(old_position->second);
      positions_.erase(old_position);
    }
    if (!change.entry) continue;
    const Position position{*KeyIn(*change.entry, spec_.key), change.item};
    positions_.emplace(change.item, position);
    entries_.insert_or_assign(position, *std::move(change.entry));
  }
  pending_ = std::move(later);
  return entries_;
}

bool DynamoIndex::IsLate(const KeyPart& partition) const {
  return std::ranges::any_of(pending_, [&](const Change& change) {
    return change.entry && KeyIn(*change.entry, spec_.key)->partition == partition;
  });
}

}  // namespace weir::sim
