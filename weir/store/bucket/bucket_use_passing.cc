#include "weir/store/bucket/bucket_use_passing.h"

#include <utility>

namespace weir {
namespace {

// Calls `visit` (BucketStripe&, BucketEntry&) with each entry that the filter selects and that has
// use, under the lock of its stripe.
template <class Visit>
void ForEachUsed(BucketStripes stripes, const UsageFilter& filter, const Visit& visit) {
  for (const auto& stripe : stripes) {
    const MutexLock lock(stripe->mutex);
    const auto visit_if = [&](BucketEntry& entry) {
      const bool selected = !filter.resource || entry.key().resource == *filter.resource;
      if (selected && !IsEmpty(entry.state.use)) visit(*stripe, entry);
    };
    if (filter.entity) {
      BucketEntry* entry = stripe->FirstOf(*filter.entity);
      for (; entry != nullptr; entry = entry->next_of_entity) visit_if(*entry);
    } else {
      for (const auto& entry : stripe->entries) visit_if(*entry);
    }
  }
}

}  // namespace

void UseDrain::ReportEndedHours(BucketEntry& entry) {
  BucketUse& use = entry.state.use;
  if (!HasEnded(use) || !sink) return;
  if (use.hour != BucketUse::kNoHour && use.more->size() < kMaxHours) {
    if (most == 0) return;
    --most;
  }
  sink(entry.key(), TakeEnded(use));
}

void UseDrain::ReportUseOfAbsent(BucketStripe& stripe) {
  if (!sink) return;
  for (auto& [target, hours] : stripe.use_of_absent) sink(target->key, std::move(hours));
  stripe.use_of_absent.clear();
}

void VisitUse(BucketStripes stripes, const UsageFilter& filter, const UseSink& visitor) {
  ForEachUsed(stripes, filter, [&](BucketStripe&, BucketEntry& entry) {
    visitor(entry.key(), HoursOf(entry.state.use, entry.state.target->limits));
  });
}

void ReportUse(BucketStripes stripes, const UsageFilter& filter) {
  ForEachUsed(stripes, filter, [](BucketStripe& stripe, BucketEntry& entry) {
    EndHour(entry.state.use, entry.state.target->limits);
    stripe.ReportEndedHours(entry);
  });
}

void EndHours(BucketStripes stripes, const std::string& entity) {
  UsageFilter filter;
  filter.entity = entity;
  ForEachUsed(stripes, filter, [](BucketStripe& stripe, BucketEntry& entry) {
    EndHour(entry.state.use, entry.state.target->limits);
    stripe.MarkChanged(entry);
  });
}

}  // namespace weir
