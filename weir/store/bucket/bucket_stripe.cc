#include "weir/store/bucket/bucket_stripe.h"

#include <utility>

namespace weir {
namespace {

constexpr std::uint32_t kCallsPerSweep = 32;

}  // namespace

BucketEntry* BucketStripe::Find(BucketRef ref) {
  const auto found = index.find(ref);
  return found == index.end() ? nullptr : found->entry;
}

BucketEntry* BucketStripe::FirstOf(std::string_view entity) {
  const auto found = by_entity.find(EntityRef::Of(entity));
  return found == by_entity.end() ? nullptr : found->entry;
}

BucketEntry& BucketStripe::Add(BucketState state) {
  grown = true;
  const std::size_t hash = state.target->hash;
  entries.push_back(std::make_unique<BucketEntry>(
      BucketEntry{.state = std::move(state), .index = static_cast<std::uint32_t>(entries.size())}));
  BucketEntry& entry = *entries.back();
  index.insert({hash, &entry});
  Link(entry);
  return entry;
}

// Inserts the entry after the first one of its entity, or makes it the first one.
void BucketStripe::Link(BucketEntry& entry) {
  const auto [found, is_first] = by_entity.insert({EntityRef::Of(entry.key().entity).hash, &entry});
  if (is_first) return;
  BucketEntry& first = *found->entry;
  entry.previous_of_entity = &first;
  entry.next_of_entity = first.next_of_entity;
  first.next_of_entity = &entry;
  if (entry.next_of_entity != nullptr) entry.next_of_entity->previous_of_entity = &entry;
}

// Removes the entry from the list of its entity. If it was the first, by_entity then contains the
// next one. The erase comes before the insert, because both entries have the same entity.
void BucketStripe::Unlink(BucketEntry& entry) {
  BucketEntry* const next = entry.next_of_entity;
  BucketEntry* const previous = entry.previous_of_entity;
  if (next != nullptr) next->previous_of_entity = previous;
  if (previous != nullptr) {
    previous->next_of_entity = next;
    return;
  }
  const std::size_t hash = EntityRef::Of(entry.key().entity).hash;
  by_entity.erase({hash, &entry});
  if (next != nullptr) by_entity.insert({hash, next});
}

void BucketStripe::MarkChanged(BucketEntry& entry) {
  if (!track_changes || entry.in_changed_list) return;
  entry.in_changed_list = true;
  changed.push_back(&entry);
}

void BucketStripe::ReportUse(const TargetPtr& target, std::vector<HourOfUse> hours) {
  if (use_sink != nullptr) return (*use_sink)(target->key, std::move(hours));
  use_of_absent.emplace_back(target, std::move(hours));
}

void BucketStripe::ReportEndedHours(BucketEntry& entry) {
  if (use_sink != nullptr && HasEnded(entry.state.use)) {
    (*use_sink)(entry.key(), TakeEnded(entry.state.use));
  }
}

bool BucketStripe::ReportAllUse(BucketEntry& entry, SweepTimes& times) {
  if (IsEmpty(entry.state.use)) return true;
  if (times.max_deferred == 0) return false;
  if (use_sink == nullptr) --times.max_deferred;
  EndHour(entry.state.use, entry.state.target->limits);
  ReportEndedHours(entry);
  if (entry.state.use.more == nullptr) return true;
  MarkChanged(entry);
  return false;
}

void BucketStripe::Remove(BucketEntry& entry) {
  if (!IsEmpty(entry.state.use)) {
    ReportUse(entry.state.target, HoursOf(entry.state.use, entry.state.target->limits));
  }
  if (entry.reported) removed.push_back(entry.state.target);
  if (entry.in_changed_list) std::erase(changed, &entry);
  index.erase({entry.state.target->hash, &entry});
  Unlink(entry);
  const std::size_t at = entry.index;
  entries[at].swap(entries.back());
  entries[at]->index = static_cast<std::uint32_t>(at);
  entries.pop_back();
}

std::size_t BucketStripe::Sweep(std::size_t count, SweepTimes& times, AheadReport& report) {
  std::size_t swept = 0;
  for (; count > 0 && swept < times.max_removed && !entries.empty(); --count) {
    if (sweep_index >= entries.size()) sweep_index = 0;
    BucketEntry& entry = *entries[sweep_index];
    const milliseconds ahead = SetBackToNow(entry.state, times.now);
    if (ahead > milliseconds(0)) {
      report.Add(entry.key(), ahead);
      MarkChanged(entry);
    }
    // A bucket with a change that is not drained yet is not removed: `changed` has a pointer to it.
    if (!entry.in_changed_list && FullAt(entry.state) <= times.idle_since &&
        (times.removes_unreported || ReportAllUse(entry, times))) {
      Remove(entry);
      ++swept;
      continue;
    }
    if (RemoveFullExtras(entry.state, times.idle_since)) MarkChanged(entry);
    ++sweep_index;
  }
  return swept;
}

bool BucketStripe::TakeSweepDue() {
  if (!grown && ++sweep_checks % kCallsPerSweep != 0) return false;
  grown = false;
  return true;
}

}  // namespace weir
