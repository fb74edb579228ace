#include "weir/store/memory/memory_rows.h"

#include <iterator>

#include "weir/base/bucket_time.h"

namespace weir {
namespace {

// Each new row makes one sweep. Because a sweep visits more than one row, the number of rows
// without effect decreases.
constexpr int kRowsPerSweep = 2;

template <class Map>
auto Find(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::nullopt : std::optional(found->second);
}

// Calls `is_gone` for the next rows after `swept`, and erases those for which it returns true. At
// the end of the map, the next sweep starts from the beginning.
template <class Map, class IsGone>
void SweepNext(Map& map, typename Map::key_type& swept, const IsGone& is_gone) {
  for (int i = 0; i < kRowsPerSweep; ++i) {
    const auto next = map.upper_bound(swept);
    if (next == map.end()) {
      swept = {};
      return;
    }
    swept = next->first;
    if (is_gone(next->second)) map.erase(next);
  }
}

}  // namespace

Result<std::optional<HeldSlot>> MemoryRows::FindSlot(const SlotRef& slot) {
  const auto found = slots_.find(slot.key);
  if (found == slots_.end()) return std::nullopt;
  return Find(found->second.by_id, slot.id);
}

Result<HeldCount> MemoryRows::CountHeld(const AccountKey& key, UnixMillis now) {
  const auto found = slots_.find(key);
  if (found == slots_.end()) return HeldCount();
  const auto& by_expiry = found->second.by_expiry;
  auto slot = by_expiry.begin();
  std::size_t expired = 0;
  for (; slot != by_expiry.end() && slot->first <= now; ++slot) ++expired;
  if (slot == by_expiry.end()) return HeldCount();
  return HeldCount{.slots = static_cast<std::int64_t>(by_expiry.size() - expired),
                   .next_expiry = slot->first};
}

Result<std::vector<HeldSlot>> MemoryRows::ListHeld(const SlotRange& range, UnixMillis now) {
  std::vector<HeldSlot> listed;
  const auto found = slots_.find(range.key);
  if (found == slots_.end()) return listed;
  const auto& by_id = found->second.by_id;
  for (auto at = by_id.upper_bound(range.after); at != by_id.end(); ++at) {
    if (listed.size() == range.limit) break;
    if (now < at->second.expires) listed.push_back(at->second);
  }
  return listed;
}

Result<std::vector<HeldSlot>> MemoryRows::ClaimedAfter(const AccountKey& key, UnixMillis time) {
  std::vector<HeldSlot> later;
  const auto found = slots_.find(key);
  if (found == slots_.end()) return later;
  for (const auto& [id, slot] : found->second.by_id) {
    if (slot.claimed > time) later.push_back(slot);
  }
  return later;
}

Result<std::vector<HeldSlot>> MemoryRows::BoundTo(const std::string& resource_id) {
  std::vector<HeldSlot> slots;
  const auto found = bound_.find(resource_id);
  if (found == bound_.end()) return slots;
  for (const auto& [key, id] : found->second) slots.push_back(slots_.at(key).by_id.at(id));
  return slots;
}

void MemoryRows::Unindex(KeySlots& slots, const HeldSlot& slot) {
  slots.by_expiry.erase({slot.expires, slot.id});
  const auto bound = bound_.find(slot.resource_id);
  if (bound == bound_.end()) return;
  bound->second.erase({slot.key, slot.id});
  if (bound->second.empty()) bound_.erase(bound);
}

// `stored` is a default slot if the row is new; Unindex then finds nothing to remove.
Status MemoryRows::PutSlot(const HeldSlot& slot) {
  KeySlots& slots = slots_[slot.key];
  HeldSlot& stored = slots.by_id[slot.id];
  Unindex(slots, stored);
  stored = slot;
  slots.by_expiry.emplace(slot.expires, slot.id);
  if (slot.bound()) bound_[slot.resource_id].emplace(slot.key, slot.id);
  return {};
}

Status MemoryRows::EraseSlot(const SlotRef& slot) {
  const auto key = slots_.find(slot.key);
  if (key == slots_.end()) return {};
  KeySlots& slots = key->second;
  const auto found = slots.by_id.find(slot.id);
  if (found == slots.by_id.end()) return {};
  Unindex(slots, found->second);
  slots.by_id.erase(found);
  if (slots.by_id.empty()) slots_.erase(key);
  return {};
}

void MemoryRows::EraseExpired(KeySlots& slots, UnixMillis now) {
  while (!slots.by_expiry.empty() && slots.by_expiry.begin()->first <= now) {
    const auto expired = slots.by_id.find(slots.by_expiry.begin()->second);
    Unindex(slots, expired->second);
    slots.by_id.erase(expired);
  }
}

Status MemoryRows::EraseExpired(const AccountKey& key, UnixMillis now) {
  const auto found = slots_.find(key);
  if (found == slots_.end()) return {};
  EraseExpired(found->second, now);
  if (found->second.by_id.empty()) slots_.erase(found);
  return {};
}

Result<std::optional<EndedResource>> MemoryRows::FindEnded(const std::string& resource_id) {
  return Find(ended_, resource_id);
}

Status MemoryRows::PutEnded(const EndedResource& ended) {
  ended_[ended.resource_id] = ended;
  return {};
}

Result<std::optional<AccountLimitRow>> MemoryRows::FindLimit(const AccountKey& key) {
  return Find(limits_, key);
}

Result<std::vector<AccountKey>> MemoryRows::LimitKeysOf(const std::string& service) {
  std::vector<AccountKey> keys;
  for (const auto& [key, row] : limits_) {
    if (row.service == service) keys.push_back(key);
  }
  return keys;
}

Status MemoryRows::PutLimit(const AccountLimitRow& row) {
  limits_[row.key] = row;
  return {};
}

Status MemoryRows::EraseLimit(const AccountKey& key) {
  limits_.erase(key);
  return {};
}

Result<std::optional<Bucket>> MemoryRows::FindBucket(const AccountKey& key) {
  return Find(buckets_, key);
}

Status MemoryRows::PutBucket(const AccountKey& key, const Bucket& bucket) {
  buckets_[key] = bucket;
  return {};
}

Status MemoryRows::Sweep(UnixMillis now) {
  SweepNext(slots_, swept_slots_, [&](KeySlots& slots) {
    EraseExpired(slots, now);
    return slots.by_id.empty();
  });
  SweepNext(ended_, swept_ended_, [&](const EndedResource& e) { return e.remember_until <= now; });
  SweepNext(buckets_, swept_buckets_,
            [&](const Bucket& bucket) { return IsFull(bucket, now - kMaxAhead); });
  return {};
}

std::size_t MemoryRows::CountRows() const {
  std::size_t slots = 0;
  for (const auto& [key, of_key] : slots_) slots += of_key.by_id.size();
  return slots + ended_.size() + limits_.size() + buckets_.size();
}

}  // namespace weir
