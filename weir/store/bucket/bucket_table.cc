#include "weir/store/bucket/bucket_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "weir/store/bucket/adjust_dedup.h"
#include "weir/store/bucket/bucket_counting.h"
#include "weir/store/bucket/bucket_listing.h"
#include "weir/store/bucket/bucket_state.h"
#include "weir/store/bucket/bucket_stripe.h"
#include "weir/store/bucket/bucket_use_passing.h"
#include "weir/store/bucket/space_sweep.h"
#include "weir/store/bucket/stored_ahead.h"

namespace weir {
namespace {

// Makes the decision for Judge to fill. Callers do this before they take the locks, because the
// strings are most of the cost of a result.
Decision BlankDecision(std::span<const Charge> charges) {
  Decision decision;
  std::size_t count = 0;
  for (const Charge& charge : charges) count += charge.amounts.size();
  decision.limits.reserve(count);
  for (const Charge& charge : charges) {
    const Target& target = *charge.target;
    for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
      decision.limits.push_back({.entity = target.key.entity,
                                 .resource = target.key.resource,
                                 .limit = target.limits[i].name,
                                 .requested = charge.amounts[i]});
    }
  }
  return decision;
}

// Judges one limit. If the caller's time is behind the meter's, no tokens come back before the
// meter's time, so the difference adds to the wait.
void Judge(const MeterView& view, LimitStatus& status) {
  status.capacity = view.meter.quota.capacity;
  status.available = view.meter.tokens;
  const milliseconds wait = RetryAfter(view.meter, status.requested);
  status.retry_after = wait > milliseconds(0) ? wait + view.behind : wait;
  status.exceeded = status.retry_after > milliseconds(0);
}

// Returns true if no amount is positive. A bucket that does not exist is full, so returning tokens
// to it changes nothing.
bool GivesBackOnly(const Charge& charge) {
  return std::ranges::all_of(charge.amounts, [](std::int64_t amount) { return amount <= 0; });
}

Error TooMuchDebt(const BucketKey& key) {
  return {Code::kOutOfRange, fmt::format("{}/{}: debt would exceed {} tokens; nothing is adjusted",
                                         key.entity, key.resource, FormatTokens(kMaxDebt))};
}

Error TooLate(const BucketKey& key) {
  return {Code::kDeadlineExceeded,
          fmt::format("{}/{}: the adjust arrived after the time by which it must count; nothing is "
                      "adjusted",
                      key.entity, key.resource)};
}

}  // namespace

// Holds the locks of the stripes of all charges. They are taken in ascending order of the stripes,
// each once, so that requests cannot deadlock.
class BucketTable::Locks {
 public:
  Locks(const BucketTable& table, std::span<const Charge> charges) WEIR_NO_THREAD_SAFETY_ANALYSIS
      : table_(table) {
    for (const Charge& charge : charges) held_[count_++] = table.StripeOf(charge.target->hash);
    const auto end = held_.begin() + static_cast<std::ptrdiff_t>(count_);
    std::sort(held_.begin(), end);
    count_ = static_cast<std::size_t>(std::unique(held_.begin(), end) - held_.begin());
    for (std::size_t i = 0; i < count_; ++i) table_.stripes_[held_[i]]->mutex.lock();
  }
  ~Locks() WEIR_NO_THREAD_SAFETY_ANALYSIS {
    while (count_ > 0) table_.stripes_[held_[--count_]]->mutex.unlock();
  }
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;

 private:
  const BucketTable& table_;
  std::size_t count_ = 0;
  std::array<std::size_t, kMaxCharges> held_;  // the first count_ are set
};

// The bucket of one charge, if it exists. Valid while Locks on the same charges are held.
struct BucketTable::Found {
  BucketStripe* stripe = nullptr;
  BucketEntry* entry = nullptr;

  const BucketState* state() const { return entry == nullptr ? nullptr : &entry->state; }
};

BucketTable::BucketTable(BucketTableOptions options)
    : options_(std::move(options)),
      adjust_ids_(std::make_unique<AdjustDedup>()),
      space_sweep_(std::make_unique<SpaceSweep>()) {
  for (std::size_t i = 0; i < options_.stripes; ++i) {
    stripes_.push_back(std::make_unique<BucketStripe>());
    stripes_.back()->track_changes = options_.track_changes;
    if (options_.use_sink) stripes_.back()->use_sink = &options_.use_sink;
  }
}

BucketTable::~BucketTable() = default;

std::size_t BucketTable::StripeOf(std::size_t hash) const {
  return weir::StripeOf(hash, stripes_.size());
}

BucketTable::Found BucketTable::Find(const Target& target) const {
  BucketStripe& stripe = *stripes_[StripeOf(target.hash)];
  return {.stripe = &stripe, .entry = stripe.Find({target.key, target.hash})};
}

void BucketTable::SetBackIfAhead(const Found& found, UnixMillis now, AheadReport& report) {
  if (found.entry == nullptr || !HasTimeFarAhead(found.entry->state, now)) return;
  const milliseconds ahead = SetBackToNow(found.entry->state, Latest(now));
  if (ahead == milliseconds(0)) return;
  report.Add(found.entry->key(), ahead);
  found.stripe->MarkChanged(*found.entry);
  drain_due_ = true;  // for a refusal; after other results, the owner drains anyway
}

Result<Decision> BucketTable::Acquire(std::span<const Charge> charges, UnixMillis now) {
  WEIR_RETURN_IF_ERROR(CheckAcquire(charges));
  Result<Decision> decision = TryAcquire(charges, now);
  const bool no_space = !decision && decision.error().code == Code::kResourceExhausted;
  if (no_space && MakeSpace(charges.size(), now)) return TryAcquire(charges, now);
  return decision;  // moved; `?:` would copy it
}

// Order: the result's strings are made without locks. Under the locks, all limits are judged before
// any is debited. The checks of space and Reserve fail before the first change, except for times
// that were set back. The report of these times is declared before the locks, so it is written
// after their release.
Result<Decision> BucketTable::TryAcquire(std::span<const Charge> charges, UnixMillis now) {
  Decision decision = BlankDecision(charges);
  std::array<Found, kMaxCharges> all;
  const std::span<Found> found(all.data(), charges.size());
  AheadReport ahead(options_.log);
  const Locks locks(*this, charges);
  for (std::size_t i = 0; i < charges.size(); ++i) {
    found[i] = Find(*charges[i].target);
    SetBackIfAhead(found[i], now, ahead);
  }
  Decide(charges, found, now, decision);
  if (!decision.admitted) return decision;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    WEIR_RETURN_IF_ERROR(CheckSpace(found[i].state(), charges[i], now));
  }
  WEIR_RETURN_IF_ERROR(CheckSpaceForLooks(charges, found));
  WEIR_RETURN_IF_ERROR(Reserve(charges, found));
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (!Changes(charges[i])) continue;
    Take(FindOrCreate(found[i], charges[i].target, now), charges[i], now);
    Count(found[i], charges[i], now);
  }
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (Changes(charges[i])) Tidy(*found[i].stripe, now, ahead);
  }
  return decision;
}

void BucketTable::Tidy(BucketStripe& stripe, UnixMillis now, AheadReport& report) {
  if (!stripe.TakeSweepDue()) return;
  // Most sweeps remove nothing. They must not write to size_, for which all threads contend.
  SweepTimes times = TimesOf(now);
  times.max_removed = BucketStripe::kMaxRemoved;
  const std::size_t swept = stripe.Sweep(BucketStripe::kSweepCount, times, report);
  if (swept > 0) size_ -= swept;
}

void BucketTable::Decide(std::span<const Charge> charges, std::span<const Found> found,
                         UnixMillis now, Decision& decision) {
  Judge(charges, found, now, decision);
  // The returned wait, and that which the caller of a look computes, is correct only if the bucket
  // refills at the rates from which it was computed. So the limits of the targets are stored, and
  // judged again.
  if (decision.admitted && std::ranges::any_of(charges, Changes)) return;
  if (!StoreLimits(charges, found, now)) return;
  drain_due_ = true;
  Judge(charges, found, now, decision);
}

void BucketTable::Judge(std::span<const Charge> charges, std::span<const Found> found,
                        UnixMillis now, Decision& decision) {
  decision.retry_after = milliseconds(0);
  auto status = decision.limits.begin();
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const Target& target = *charges[i].target;
    for (std::size_t j = 0; j < target.limits.size(); ++j) {
      weir::Judge(ViewOf(found[i].state(), target, j, now), *status);
      decision.retry_after = std::max(decision.retry_after, status++->retry_after);
    }
  }
  decision.admitted = decision.retry_after == milliseconds(0);
}

bool BucketTable::StoreLimits(std::span<const Charge> charges, std::span<const Found> found,
                              UnixMillis now) {
  bool changed = false;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    BucketEntry* const entry = found[i].entry;
    if (entry == nullptr || !weir::StoreLimits(entry->state, charges[i], now)) continue;
    found[i].stripe->MarkChanged(*entry);
    changed = true;
  }
  return changed;
}

bool BucketTable::TakeDrainDue() {
  // The flag is nearly always false, and then no thread writes to the cache line that all threads
  // read.
  return drain_due_ && drain_due_.exchange(false);
}

Status BucketTable::Adjust(std::span<const Charge> charges, const AdjustTerms& terms,
                           UnixMillis now) {
  WEIR_RETURN_IF_ERROR(CheckAdjust(charges));
  Status adjusted = TryAdjust(charges, terms, now);
  const bool no_space = !adjusted && adjusted.error().code == Code::kResourceExhausted;
  return no_space && MakeSpace(charges.size(), now) ? TryAdjust(charges, terms, now) : adjusted;
}

// The id is inserted under the locks of the buckets, so of two concurrent adjusts with the same id,
// one waits and then finds the id. A failure removes the id again, because nothing was adjusted.
Status BucketTable::TryAdjust(std::span<const Charge> charges, const AdjustTerms& terms,
                              UnixMillis now) {
  std::array<Found, kMaxCharges> found;
  AheadReport ahead(options_.log);
  const Locks locks(*this, charges);
  if (!adjust_ids_->Insert(terms.id, now)) return {};
  const auto refuse = [&](Error error) {
    adjust_ids_->Forget(terms.id);
    return Fail(std::move(error));
  };
  if (now > terms.counts_by) return refuse(TooLate(charges[0].target->key));
  for (std::size_t i = 0; i < charges.size(); ++i) {
    found[i] = Find(*charges[i].target);
    SetBackIfAhead(found[i], now, ahead);
    // The caller's thread may have been stopped since it read the time.
    const BucketState* const state = found[i].state();
    if (state != nullptr && state->bucket.time > terms.counts_by) {
      return refuse(TooLate(charges[i].target->key));
    }
    if (!CanAdjust(state, charges[i], terms.stores_limits, now)) {
      return refuse(TooMuchDebt(charges[i].target->key));
    }
  }
  if (Status reserved = Reserve(charges, {found.data(), charges.size()}); !reserved) {
    return refuse(std::move(reserved.error()));
  }
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (!Changes(charges[i])) continue;
    if (found[i].entry == nullptr && GivesBackOnly(charges[i])) {
      // The bucket is full and stays full, but the returned tokens reduce its use.
      if (options_.count_use) {
        found[i].stripe->ReportUse(charges[i].target, {UseOfReturn(charges[i], now)});
      }
      continue;
    }
    BucketState& state = FindOrCreate(found[i], charges[i].target, now);
    if (terms.stores_limits) AdoptLimits(state, charges[i].target, now);
    weir::Adjust(state, charges[i], now);
    Count(found[i], charges[i], now);
  }
  return {};
}

Status BucketTable::CheckSpaceForLooks(std::span<const Charge> charges,
                                       std::span<const Found> found) const {
  std::size_t absent = 0;
  bool has_look = false;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (found[i].entry != nullptr) continue;
    ++absent;
    has_look |= !Changes(charges[i]);
  }
  if (!has_look || size_ + absent <= options_.max_buckets) return {};
  return Fail(NoSpace(charges[0].target->key));
}

Error BucketTable::NoSpace(const BucketKey& key) const {
  return {Code::kResourceExhausted,
          fmt::format("{}/{}: there is no space for another bucket: {} exist, and at most {} may; "
                      "try again when some are full; nothing is changed",
                      key.entity, key.resource, size_.load(), options_.max_buckets)};
}

Status BucketTable::Reserve(std::span<const Charge> charges, std::span<const Found> found) {
  std::size_t needed = 0;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (found[i].entry == nullptr && !GivesBackOnly(charges[i])) ++needed;
  }
  if (needed == 0) return {};
  // Adds first, then checks, so that concurrent requests on other stripes cannot exceed the
  // limit together.
  if ((size_ += needed) <= options_.max_buckets) return {};
  size_ -= needed;
  return Fail(NoSpace(charges[0].target->key));
}

BucketState& BucketTable::FindOrCreate(Found& found, const TargetPtr& target, UnixMillis now) {
  if (found.entry == nullptr) found.entry = &found.stripe->Add(NewBucketState(target, now));
  found.stripe->MarkChanged(*found.entry);
  return found.entry->state;
}

void BucketTable::Count(const Found& found, const Charge& charge, UnixMillis now) {
  if (!options_.count_use) return;
  CountUse(found.entry->state, charge, now);
  found.stripe->ReportEndedHours(*found.entry);
}

SweepTimes BucketTable::TimesOf(UnixMillis now) const {
  return {.idle_since = now - options_.idle_grace, .now = Latest(now)};
}

// The caller holds no locks.
bool BucketTable::MakeSpace(std::size_t wanted, UnixMillis now) {
  AheadReport ahead(options_.log);
  const SpaceSweep::Swept swept = space_sweep_->Continue(
      stripes_, size_,
      {.wanted = wanted, .max_examined = options_.max_examined, .times = TimesOf(now)}, ahead);
  if (swept.has_changes) drain_due_ = true;
  return swept.removed > 0 && size_ < options_.max_buckets;
}

std::optional<BucketRecord> BucketTable::Read(const BucketKey& key) const {
  const std::size_t hash = HashOf(key);
  BucketStripe& stripe = *stripes_[StripeOf(hash)];
  const MutexLock lock(stripe.mutex);
  const BucketEntry* entry = stripe.Find({key, hash});
  if (entry == nullptr) return std::nullopt;
  return RecordOf(entry->state);
}

Result<Page<BucketRecord>> BucketTable::List(const BucketFilter& filter,
                                             const PageRequest& page) const {
  return ListBuckets(stripes_, filter, page);
}

std::size_t BucketTable::size() const { return size_; }

void BucketTable::EraseEntity(const std::string& entity) {
  for (const auto& stripe : stripes_) {
    const MutexLock lock(stripe->mutex);
    while (BucketEntry* entry = stripe->FirstOf(entity)) {
      stripe->Remove(*entry);
      --size_;
    }
  }
}

std::optional<UnixMillis> BucketTable::SweepIdle(UnixMillis now) {
  AheadReport ahead(options_.log);
  // Bounds the commit that follows the sweep of a large table.
  constexpr std::size_t kMaxDeferred = 4096;
  SweepTimes times = TimesOf(now);
  times.max_deferred = kMaxDeferred;
  std::optional<UnixMillis> next;
  for (const auto& stripe : stripes_) {
    const MutexLock lock(stripe->mutex);
    size_ -= stripe->Sweep(stripe->entries.size(), times, ahead);
    for (const auto& entry : stripe->entries) {
      const UnixMillis removable_at = FullAt(entry->state) + options_.idle_grace;
      next = next ? std::min(*next, removable_at) : removable_at;
    }
  }
  return next;
}

void BucketTable::Load(BucketRecord record, Loaded loaded, BucketUse use) {
  BucketState state = StateOf(std::move(record));
  state.use = std::move(use);
  BucketStripe& stripe = *stripes_[StripeOf(state.target->hash)];
  const MutexLock lock(stripe.mutex);
  BucketEntry& entry = stripe.Add(std::move(state));
  entry.reported = true;
  if (loaded == Loaded::kAsChange) stripe.MarkChanged(entry);
  ++size_;
}

void BucketTable::ReadState(const BucketKey& key,
                            const std::function<void(const BucketState*)>& read) const {
  const std::size_t hash = HashOf(key);
  BucketStripe& stripe = *stripes_[StripeOf(hash)];
  const MutexLock lock(stripe.mutex);
  const BucketEntry* entry = stripe.Find({key, hash});
  read(entry == nullptr ? nullptr : &entry->state);
}

void BucketTable::VisitUse(const UsageFilter& filter, const UseSink& visitor) const {
  weir::VisitUse(stripes_, filter, visitor);
}

void BucketTable::ReportUse(const UsageFilter& filter) { weir::ReportUse(stripes_, filter); }

void BucketTable::EndHours(const std::string& entity) { weir::EndHours(stripes_, entity); }

std::size_t BucketTable::DrainChanges(const ChangeSink& sink) { return DrainChanges(sink, {}); }

// Locks one stripe at a time, so for a request in flight, this drain may report some of the
// buckets, and the next drain the others.
std::size_t BucketTable::DrainChanges(const ChangeSink& sink, UseDrain use) {
  std::size_t drained = 0;
  for (const auto& stripe : stripes_) {
    const MutexLock lock(stripe->mutex);
    drained += stripe->Undrained();
    for (const TargetPtr& target : stripe->removed) {
      std::uint32_t mark = 0;
      sink(target->key, nullptr, mark);
    }
    stripe->removed.clear();
    use.ReportUseOfAbsent(*stripe);
    for (BucketEntry* entry : stripe->changed) {
      use.ReportEndedHours(*entry);
      sink(entry->key(), &entry->state, entry->sink_mark);
      entry->in_changed_list = false;
      entry->reported = true;
    }
    stripe->changed.clear();
  }
  return drained;
}

}  // namespace weir
