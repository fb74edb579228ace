#include "weir/dynamodb/streams/lease_keeper.h"

#include <algorithm>
#include <utility>

namespace weir::dynamo {
namespace {

using At = ShardPosition::At;

// A lease is read and renewed this often within its term.
constexpr int kRenewalsPerTerm = 3;

void AddFailure(const Error& error, bool& failing, std::vector<ConsumerEvent>& events) {
  if (!std::exchange(failing, true)) events.emplace_back(RequestsFailing{{}, error});
}

}  // namespace

LeaseKeeper::LeaseKeeper(const ConsumerOptions& options)
    : options_(options), backoff_(options.first_backoff, options.longest_backoff) {}

std::vector<ConsumerStep::LeaseRequest> LeaseKeeper::MakeRequests(Moment at,
                                                                  std::uint64_t& next_id) {
  RequestPlan plan{at.now, next_id};
  planned_at_ = at.now;
  PlanRead(plan);
  for (auto& [shard, entry] : entries_) PlanHeld(entry, plan);
  if (!is_loaded_ || !is_listed_ || is_draining_) return std::move(plan.requests);
  PlanCreations(at, plan);
  PlanTakes(plan);
  PlanHandoverRequest(plan);
  PlanRemovals(plan);
  return std::move(plan.requests);
}

void LeaseKeeper::PlanRead(RequestPlan& plan) {
  if (read_id_ != 0 || read_due_ > plan.now || is_draining_) return;
  read_id_ = plan.next_id++;
  read_sent_ = plan.now;
  plan.requests.push_back({read_id_});
}

void LeaseKeeper::PlanHeld(Entry& entry, RequestPlan& plan) {
  if (!entry.is_held || entry.write_id != 0 || entry.retry_at > plan.now) return;
  const bool has_progress = entry.progress != entry.lease.position;
  const bool is_due = entry.is_releasing ||
                      plan.now >= entry.written + options_.term / kRenewalsPerTerm ||
                      (has_progress && plan.now >= entry.written + options_.checkpoint_interval);
  if (!is_due) return;
  ShardLease lease = entry.lease;
  lease.position = entry.progress;
  lease.term = options_.term;
  if (entry.is_releasing) {
    lease.owner.clear();
  } else if (!ShouldRelease(lease.shard, plan.now)) {
    lease.wanted_by.clear();
  }
  Write(entry, {.lease = std::move(lease)}, plan);
}

void LeaseKeeper::PlanCreations(Moment at, RequestPlan& plan) {
  bool is_complete = true;
  for (const StreamShard& shard : listed_) {
    if (!entries_.contains(shard.id)) {
      ShardLease lease = FirstLeaseFor(shard, at);
      entries_.try_emplace(lease.shard).first->second.lease = std::move(lease);
    }
    const Entry* const entry = Find(shard.id);
    is_complete &= entry != nullptr && entry->is_stored;
  }
  if (is_complete && !entries_.contains(kInitializedLease)) {
    entries_[kInitializedLease].lease = {.shard = kInitializedLease, .position = {At::kEnd}};
  }
  for (auto& [shard, entry] : entries_) {
    const bool is_due = entry.write_id == 0 && entry.retry_at <= plan.now;
    if (!entry.is_stored && is_due) Write(entry, {.lease = entry.lease}, plan);
  }
}

// A parent that the service has removed gets a lease too: the reader of that lease finds that the
// shard is missing, and delivers a gap. The child's lease is created only when the parent's is
// stored. In the other order, a process that ended in between would leave the child's lease alone,
// and no later process would report the gap.
ShardLease LeaseKeeper::FirstLeaseFor(const StreamShard& shard, Moment at) const {
  const Entry* const parent = Find(shard.parent);
  const bool is_parent_known = shard.parent.empty() || FindListed(shard.parent) != nullptr ||
                               (parent != nullptr && parent->is_stored);
  if (IsInitialized() && !is_parent_known) return {.shard = shard.parent};
  return {.shard = shard.id, .parent = shard.parent, .position = StartPosition(shard, at)};
}

ShardPosition LeaseKeeper::StartPosition(const StreamShard& shard, Moment at) const {
  const bool is_first_start = !IsInitialized();
  if (is_first_start && options_.from == At::kLatest) return {At::kLatest, {}, at.wall};
  const bool has_known_parent =
      FindListed(shard.parent) != nullptr || entries_.contains(shard.parent);
  if (is_first_start && !has_known_parent) return {At::kTrimHorizon};
  if (shard.first_sequence.empty()) return {At::kTrimHorizon};
  // Unlike kTrimHorizon, this position fails if records of the shard were trimmed: a gap is
  // reported.
  return {At::kAt, shard.first_sequence};
}

void LeaseKeeper::Write(Entry& entry, LeaseWrite write, RequestPlan& plan) {
  write.expected = entry.is_stored ? entry.lease.version : 0;
  write.lease.version = write.expected + 1;
  entry.write_id = plan.next_id++;
  entry.written = plan.now;
  if (!entry.unresolved_since) entry.unresolved_since = plan.now;
  entry.sent = write;
  plan.requests.push_back({entry.write_id, std::move(write)});
}

std::optional<Instant> LeaseKeeper::NextWake() const {
  std::optional<Instant> wake;
  const auto wake_by = [&](Instant due) { wake = std::min(wake.value_or(due), due); };
  if (read_id_ == 0 && !is_draining_) wake_by(read_due_);
  for (const auto& [shard, entry] : entries_) {
    if (entry.write_id != 0) continue;
    if (!entry.is_held) {
      if (entry.retry_at > planned_at_ && !is_draining_) wake_by(entry.retry_at);
      continue;
    }
    Instant due = entry.written + options_.term / kRenewalsPerTerm;
    if (entry.progress != entry.lease.position) {
      due = std::min(due, entry.written + options_.checkpoint_interval);
    }
    wake_by(std::max(entry.retry_at, entry.is_releasing ? Instant{} : due));
  }
  return wake;
}

LeaseChanges LeaseKeeper::OnRead(std::uint64_t id, LeasesRead read, Instant now, Rng& rng,
                                 std::vector<ConsumerEvent>& events) {
  LeaseChanges changes;
  if (id != read_id_) return changes;
  read_id_ = 0;
  if (!read) {
    read_due_ = now + backoff_.Next(rng);
    AddFailure(read.error(), failing_, events);
    return changes;
  }
  is_loaded_ = true;
  failing_ = false;
  backoff_.Reset();
  read_due_ = now + options_.term / kRenewalsPerTerm;
  std::erase_if(entries_, [&](const auto& item) {
    const Entry& entry = item.second;
    const bool is_read =
        std::ranges::find(read->leases, item.first, &ShardLease::shard) != read->leases.end() ||
        std::ranges::find(read->damaged, item.first, &DamagedLease::shard) != read->damaged.end();
    const bool is_idle = !entry.is_held && entry.write_id == 0 && entry.is_stored;
    return is_idle && !is_read && entry.seen < read_sent_;
  });
  for (DamagedLease& lease : read->damaged) NoteDamaged(std::move(lease), now, changes, events);
  for (const ShardLease& lease : read->leases) {
    Entry& entry = entries_[lease.shard];
    // The result of the write in flight is newer.
    if (entry.write_id != 0) continue;
    if (entry.is_stored && lease.version <= entry.lease.version) continue;
    // Writes without a known result can no longer be applied: they expect an older version.
    const Instant since = std::exchange(entry.unresolved_since, std::nullopt).value_or(read_sent_);
    Adopt(entry, lease, now);
    Settle(entry, false, since, changes);
  }
  return changes;
}

// The owner's next write repairs a damaged item, unless the item's version is damaged.
void LeaseKeeper::NoteDamaged(DamagedLease lease, Instant now, LeaseChanges& changes,
                              std::vector<ConsumerEvent>& events) {
  Entry& entry = entries_[lease.shard];
  if (entry.write_id != 0 || (entry.is_held && now < entry.valid_until)) return;
  Lose(entry, changes);
  entry.is_stored = true;
  entry.seen = now;
  entry.lease = {.shard = lease.shard, .version = 0};
  if (!std::exchange(entry.is_damaged, true)) events.emplace_back(LeaseDamaged{std::move(lease)});
}

LeaseChanges LeaseKeeper::OnWrite(std::uint64_t id, const LeaseOutcome& outcome, Instant now,
                                  Rng& rng, std::vector<ConsumerEvent>& events) {
  LeaseChanges changes;
  const auto found =
      std::ranges::find_if(entries_, [&](const auto& item) { return item.second.write_id == id; });
  if (id == 0 || found == entries_.end()) return changes;
  Entry& entry = found->second;
  entry.write_id = 0;
  if (!outcome) {
    entry.retry_at = now + backoff_.Next(rng);
    AddFailure(outcome.error(), failing_, events);
    return changes;
  }
  failing_ = false;
  backoff_.Reset();
  const Instant since = *std::exchange(entry.unresolved_since, std::nullopt);
  const bool is_removed = outcome->applied ? entry.sent.remove : !outcome->current;
  if (is_removed) {
    Lose(entry, changes);
    entries_.erase(found);
    return changes;
  }
  Adopt(entry, outcome->applied ? entry.sent.lease : *outcome->current, now);
  Settle(entry, outcome->applied, since, changes);
  return changes;
}

void LeaseKeeper::Adopt(Entry& entry, const ShardLease& current, Instant now) {
  entry.is_stored = true;
  entry.is_damaged = false;
  entry.seen = now;
  entry.lease = current;
}

void LeaseKeeper::Settle(Entry& entry, bool applied, Instant since, LeaseChanges& changes) {
  const ShardLease& sent = entry.sent.lease;
  const bool is_same_epoch = entry.lease.epoch == sent.epoch;
  const bool is_own = entry.lease.owner == options_.owner && is_same_epoch;
  if (!entry.is_held && is_own && sent.owner == options_.owner) {
    entry.is_held = true;
    entry.is_releasing = false;
    entry.progress = entry.lease.position;
    entry.valid_until = since + options_.term;
    changes.taken.push_back(entry.lease);
  } else if (entry.is_held && is_own) {
    // A write that was applied renews the lease: other processes count the term from that write on.
    // A write that was not applied renews nothing, and is due again at once.
    if (applied) entry.valid_until = since + options_.term;
    if (!applied) entry.written = Instant{};
  } else if (entry.is_held && entry.lease.owner.empty() && is_same_epoch) {
    entry.is_held = false;
    changes.released.push_back(entry.lease.shard);
  } else {
    Lose(entry, changes);
  }
}

void LeaseKeeper::Lose(Entry& entry, LeaseChanges& changes) {
  if (!std::exchange(entry.is_held, false)) return;
  changes.lost.push_back({entry.sent.lease.shard, entry.sent.lease.epoch});
}

void LeaseKeeper::OnListing(std::vector<StreamShard> shards, Instant begun) {
  listed_ = std::move(shards);
  is_listed_ = true;
  listing_begun_ = begun;
}

void LeaseKeeper::SetPosition(std::string_view shard, const ShardPosition& position) {
  const auto found = entries_.find(shard);
  if (found != entries_.end() && found->second.is_held) found->second.progress = position;
}

void LeaseKeeper::Release(std::string_view shard) {
  const auto found = entries_.find(shard);
  if (found != entries_.end() && found->second.is_held) found->second.is_releasing = true;
}

}  // namespace weir::dynamo
