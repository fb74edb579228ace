// Which leases a LeaseKeeper takes, asks for, gives back and removes: the shares of the processes.
#include <algorithm>
#include <utility>

#include "weir/dynamodb/streams/lease_keeper.h"

namespace weir::dynamo {

void LeaseKeeper::PlanTakes(RequestPlan& plan) {
  std::size_t room = std::min(ShareOf(plan.now), options_.max_shards);
  for (auto& [shard, entry] : entries_) {
    const bool is_taking = entry.write_id != 0 && entry.sent.lease.owner == options_.owner;
    if ((entry.is_held || is_taking) && IsActive(entry)) room -= std::min<std::size_t>(room, 1);
  }
  for (auto& [shard, entry] : entries_) {
    if (room == 0) return;
    if (!IsTakeable(entry, plan.now) || entry.retry_at > plan.now) continue;
    --room;
    ShardLease lease = entry.lease;
    lease.owner = options_.owner;
    lease.term = options_.term;
    lease.wanted_by.clear();
    ++lease.epoch;
    Write(entry, {.lease = std::move(lease)}, plan);
  }
}

void LeaseKeeper::PlanHandoverRequest(RequestPlan& plan) {
  const auto counts = CountByOwner(plan.now);
  const std::size_t share = ShareOf(plan.now);
  if (CountHeld() >= std::min(share, options_.max_shards)) return;
  Entry* wanted = nullptr;
  std::size_t most = CountHeld() + 1;
  for (auto& [shard, entry] : entries_) {
    if (IsFinished(entry)) continue;
    if (entry.lease.wanted_by == options_.owner || IsTakeable(entry, plan.now)) return;
    // A write in flight may take a shard.
    if (entry.write_id != 0 && entry.sent.lease.owner == options_.owner) return;
    const auto owner = counts.find(entry.lease.owner);
    const bool may_request = entry.write_id == 0 && entry.retry_at <= plan.now &&
                             entry.lease.wanted_by.empty() && !entry.is_held;
    if (!may_request || owner == counts.end()) continue;
    if (owner->second <= most || owner->second <= share) continue;
    most = owner->second;
    wanted = &entry;
  }
  if (wanted == nullptr) return;
  ShardLease lease = wanted->lease;
  lease.wanted_by = options_.owner;
  Write(*wanted, {.lease = std::move(lease)}, plan);
}

// A listing that began well after this process saw the shard's end contains the shard, unless the
// service has removed the shard.
void LeaseKeeper::PlanRemovals(RequestPlan& plan) {
  for (auto& [shard, entry] : entries_) {
    const bool is_old = listing_begun_ >= entry.seen + options_.term && entry.is_stored;
    if (!is_old || !IsFinished(entry) || entry.is_held || shard == kInitializedLease) continue;
    if (entry.write_id != 0 || entry.retry_at > plan.now || FindListed(shard) != nullptr) continue;
    const bool is_needed = std::ranges::any_of(listed_, [&](const StreamShard& child) {
      const Entry* lease = Find(child.id);
      return child.parent == entry.lease.shard && (lease == nullptr || !lease->is_stored);
    });
    if (!is_needed) Write(entry, {.lease = entry.lease, .remove = true}, plan);
  }
}

bool LeaseKeeper::MayDeliver(std::string_view shard, Instant now) const {
  const Entry* entry = Find(shard);
  return entry != nullptr && entry->is_held && !entry->is_releasing && now < entry->valid_until;
}

bool LeaseKeeper::ShouldRelease(std::string_view shard, Instant now) const {
  const Entry* entry = Find(shard);
  if (entry == nullptr || !entry->is_held) return false;
  const std::string& wanted_by = entry->lease.wanted_by;
  return is_draining_ ||
         (!wanted_by.empty() && wanted_by != options_.owner && CountHeld() > ShareOf(now));
}

bool LeaseKeeper::HoldsAny(Instant now) const {
  return std::ranges::any_of(entries_, [&](const auto& item) {
    const Entry& entry = item.second;
    const bool is_taking = entry.write_id != 0 && entry.sent.lease.owner == options_.owner;
    return is_taking || (entry.is_held && now < entry.valid_until);
  });
}

std::vector<std::string> LeaseKeeper::FindUnstored() const {
  std::vector<std::string> shards;
  for (const auto& [shard, entry] : entries_) {
    if (entry.is_held && entry.progress != entry.lease.position) shards.push_back(shard);
  }
  return shards;
}

std::size_t LeaseKeeper::CountDamaged() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(entries_, [](const auto& item) { return item.second.is_damaged; }));
}

const LeaseKeeper::Entry* LeaseKeeper::Find(std::string_view shard) const {
  const auto found = entries_.find(shard);
  return found == entries_.end() ? nullptr : &found->second;
}

const StreamShard* LeaseKeeper::FindListed(std::string_view shard) const {
  const auto found = std::ranges::find(listed_, shard, &StreamShard::id);
  return found == listed_.end() ? nullptr : &*found;
}

bool LeaseKeeper::IsInitialized() const {
  const Entry* entry = Find(kInitializedLease);
  return entry != nullptr && entry->is_stored;
}

bool LeaseKeeper::IsFinished(const Entry& entry) const {
  return entry.lease.position.at == ShardPosition::At::kEnd;
}

// A shard that is read from its newest end need not wait: the parent's records are not wanted.
bool LeaseKeeper::IsReady(const Entry& entry) const {
  const ShardLease& lease = entry.lease;
  if (lease.parent.empty() || lease.position.at == ShardPosition::At::kLatest) return true;
  const Entry* parent = Find(lease.parent);
  if (parent != nullptr && parent->is_stored) return IsFinished(*parent);
  // An older listing may lack a parent that has no lease yet.
  const bool is_recent = FindListed(lease.shard) != nullptr || listing_begun_ >= entry.seen;
  return is_recent && FindListed(lease.parent) == nullptr;
}

bool LeaseKeeper::IsActive(const Entry& entry) const {
  return entry.is_stored && !entry.is_damaged && !IsFinished(entry) && IsReady(entry);
}

bool LeaseKeeper::IsExpired(const Entry& entry, Instant now) const {
  return !entry.is_held && !entry.lease.owner.empty() && now >= entry.seen + entry.lease.term;
}

bool LeaseKeeper::IsTakeable(const Entry& entry, Instant now) const {
  if (entry.is_held || entry.write_id != 0 || !IsActive(entry)) return false;
  if (!entry.lease.owner.empty()) return IsExpired(entry, now);
  const std::string& wanted_by = entry.lease.wanted_by;
  return wanted_by.empty() || wanted_by == options_.owner || now >= entry.seen + options_.term;
}

std::size_t LeaseKeeper::CountHeld() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      entries_, [&](const auto& item) { return item.second.is_held && IsActive(item.second); }));
}

std::map<std::string, std::size_t, std::less<>> LeaseKeeper::CountByOwner(Instant now) const {
  std::map<std::string, std::size_t, std::less<>> counts;
  for (const auto& [shard, entry] : entries_) {
    const ShardLease& lease = entry.lease;
    if (!entry.is_stored || IsFinished(entry) || lease.owner.empty() || IsExpired(entry, now)) {
      continue;
    }
    ++counts[lease.owner];
    if (!lease.wanted_by.empty()) counts[lease.wanted_by];
  }
  return counts;
}

std::size_t LeaseKeeper::ShareOf(Instant now) const {
  auto counts = CountByOwner(now);
  counts[options_.owner];
  const auto shards = static_cast<std::size_t>(
      std::ranges::count_if(entries_, [&](const auto& item) { return IsActive(item.second); }));
  return (shards + counts.size() - 1) / counts.size();
}

}  // namespace weir::dynamo
