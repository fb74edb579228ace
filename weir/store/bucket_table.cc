#include "weir/store/bucket_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "weir/base/integer_text.h"
#include "weir/store/bucket_stripe.h"
#include "weir/store/recent_tokens.h"

namespace weir {
namespace {

// The answer without its numbers. Made before the locks are taken: the strings are most of its
// cost.
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

// `behind`: how far the caller's time is behind the bucket's; nothing comes back before that is
// made up.
void Judge(const Meter& meter, milliseconds behind, LimitStatus& status) {
  status.capacity = meter.quota.capacity;
  status.available = meter.tokens;
  const milliseconds wait = RetryAfter(meter, status.requested);
  status.retry_after = wait > milliseconds(0) ? wait + behind : wait;
  status.exceeded = status.retry_after > milliseconds(0);
}

// The deltas of a lease in the order of the bucket's meters: its limits may have changed since the
// lease was taken, and a limit that is gone needs no correction.
std::vector<std::int64_t> InBucketOrder(const Charge& charge, const Target& current) {
  if (charge.target.get() == &current) return charge.amounts;
  std::vector<std::int64_t> deltas;
  deltas.reserve(current.limits.size());
  const std::vector<Limit>& asked = charge.target->limits;
  for (const Limit& limit : current.limits) {
    const auto found = std::ranges::find(asked, limit.name, &Limit::name);
    const auto index = static_cast<std::size_t>(found - asked.begin());
    deltas.push_back(found == asked.end() ? 0 : charge.amounts[index]);
  }
  return deltas;
}

bool CanAdjustAll(const Bucket& bucket, const std::vector<std::int64_t>& deltas) {
  for (std::size_t i = 0; i < deltas.size(); ++i) {
    if (!CanAdjust(bucket.meters[i], deltas[i])) return false;
  }
  return true;
}

BucketRecord ToRecord(const BucketEntry& entry) {
  const Target& target = *entry.target;
  BucketRecord record{.key = target.key, .names = {}, .bucket = entry.bucket};
  for (const Limit& limit : target.limits) record.names.push_back(limit.name);
  return record;
}

bool Matches(const BucketFilter& filter, const BucketKey& key) {
  return (!filter.entity || *filter.entity == key.entity) &&
         (!filter.resource || *filter.resource == key.resource);
}

// Where the page after a bucket begins: its stripe, and its key, by which a stripe is listed.
struct Cursor {
  std::size_t stripe = 0;
  std::optional<BucketKey> after;
};

std::string FormatCursor(std::size_t stripe, const BucketKey& key) {
  return fmt::format("{}#{}#{}#{}", stripe, key.entity, key.resource, key.shard);
}

std::optional<Cursor> ReadCursor(std::string_view text) {
  // Neither an entity nor a resource may contain '#'.
  std::array<std::string_view, 4> parts;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t hash = text.find('#');
    if (hash == text.npos) return std::nullopt;
    parts[i] = text.substr(0, hash);
    text.remove_prefix(hash + 1);
  }
  parts[3] = text;
  const auto stripe = ReadInteger<std::size_t>(parts[0]);
  const auto shard = ReadInteger<std::uint32_t>(parts[3]);
  if (!stripe || !shard) return std::nullopt;
  return Cursor{.stripe = *stripe,
                .after = BucketKey{std::string(parts[1]), std::string(parts[2]), *shard}};
}

}  // namespace

// Holds the stripes of all charges, taken in ascending order so that no two requests wait for each
// other.
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

// One charge's bucket, found or added. Valid under Locks on the same charges.
struct BucketTable::Found {
  BucketStripe* stripe;
  BucketEntry* entry;
};

BucketTable::BucketTable(BucketTableOptions options)
    : options_(options), tokens_(std::make_unique<RecentTokens>()) {
  for (std::size_t i = 0; i < options_.stripes; ++i) {
    stripes_.push_back(std::make_unique<BucketStripe>());
    stripes_.back()->track_changes = options_.track_changes;
  }
}

BucketTable::~BucketTable() = default;

std::size_t BucketTable::StripeOf(std::size_t hash) const {
  // The high bits: an index inside a stripe goes by the low ones.
  return (hash >> 40) & (stripes_.size() - 1);
}

BucketTable::Found BucketTable::FindOrAdd(const TargetPtr& target, UnixMillis now) {
  BucketStripe& stripe = *stripes_[StripeOf(target->hash)];
  if (auto* entry = stripe.Find({target->key, target->hash})) return {&stripe, entry};
  return {&stripe, &stripe.Add(target, FullBucket(target->limits, now))};
}

Result<Decision> BucketTable::Acquire(std::span<const Charge> charges, UnixMillis now) {
  WEIR_RETURN_IF_ERROR(CheckAcquire(charges));
  Decision decision = BlankDecision(charges);
  auto status = decision.limits.begin();
  std::array<Found, kMaxCharges> found;
  const Locks locks(*this, charges);
  for (std::size_t i = 0; i < charges.size(); ++i) {
    found[i] = FindOrAdd(charges[i].target, now);
    const auto [stripe, entry] = found[i];
    if (Conform(*entry, charges[i].target, now)) stripe->MarkChanged(*entry);
    Refill(entry->bucket, now);
    const milliseconds behind = entry->bucket.time - now;
    for (const Meter& meter : entry->bucket.meters) {
      Judge(meter, behind, *status);
      decision.retry_after = std::max(decision.retry_after, status++->retry_after);
    }
  }
  decision.admitted = decision.retry_after == milliseconds(0);
  for (std::size_t i = 0; decision.admitted && i < charges.size(); ++i) {
    auto [stripe, entry] = found[i];
    Debit(entry->bucket, charges[i].amounts);
    stripe->MarkChanged(*entry);
  }
  for (std::size_t i = 0; i < charges.size(); ++i) {
    found[i].stripe->Tidy(now - options_.idle_grace);
  }
  return decision;
}

Status BucketTable::Adjust(std::span<const Charge> charges, AdjustToken token, UnixMillis now) {
  WEIR_RETURN_IF_ERROR(CheckAdjust(charges));
  std::array<Found, kMaxCharges> found;
  std::vector<std::vector<std::int64_t>> deltas;
  const Locks locks(*this, charges);
  if (!tokens_->Insert(token)) return {};
  for (std::size_t i = 0; i < charges.size(); ++i) {
    found[i] = FindOrAdd(charges[i].target, now);
    Bucket& bucket = found[i].entry->bucket;
    Refill(bucket, now);
    deltas.push_back(InBucketOrder(charges[i], *found[i].entry->target));
    if (CanAdjustAll(bucket, deltas.back())) continue;
    tokens_->Forget(token);
    return Fail(Code::kOutOfRange,
                fmt::format("{}/{}: debt would pass {} tokens; nothing is adjusted",
                            charges[i].target->key.entity, charges[i].target->key.resource,
                            FormatTokens(kMaxDebt)));
  }
  for (std::size_t i = 0; i < charges.size(); ++i) {
    weir::Adjust(found[i].entry->bucket, deltas[i]);
    found[i].stripe->MarkChanged(*found[i].entry);
  }
  return {};
}

std::optional<BucketRecord> BucketTable::Read(const BucketKey& key) const {
  const std::size_t hash = HashOf(key);
  BucketStripe& stripe = *stripes_[StripeOf(hash)];
  const MutexLock lock(stripe.mutex);
  const BucketEntry* entry = stripe.Find({key, hash});
  if (entry == nullptr) return std::nullopt;
  return ToRecord(*entry);
}

Result<Page<BucketRecord>> BucketTable::List(const BucketFilter& filter,
                                             const PageRequest& request) const {
  std::optional<Cursor> cursor = Cursor{};
  if (!request.cursor.empty()) cursor = ReadCursor(request.cursor);
  if (!cursor || cursor->stripe >= stripes_.size() || request.limit == 0) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("page cursor '{}', limit {}: begin with an empty cursor, ask for at least 1",
                    request.cursor, request.limit));
  }
  Page<BucketRecord> page;
  for (; cursor->stripe < stripes_.size(); *cursor = {.stripe = cursor->stripe + 1, .after = {}}) {
    const bool whole = AppendStripe(filter, cursor->after, request.limit, cursor->stripe, page);
    if (whole) continue;
    // The last item may be of an earlier stripe, where the page was full already.
    const BucketKey& last = page.items.back().key;
    page.next = FormatCursor(StripeOf(HashOf(last)), last);
    break;
  }
  return page;
}

bool BucketTable::AppendStripe(const BucketFilter& filter, const std::optional<BucketKey>& after,
                               std::size_t limit, std::size_t index,
                               Page<BucketRecord>& page) const {
  BucketStripe& stripe = *stripes_[index];
  const MutexLock lock(stripe.mutex);
  std::vector<const BucketEntry*> found;
  for (const auto& entry : stripe.entries) {
    const BucketKey& key = entry->target->key;
    if (Matches(filter, key) && (!after || *after < key)) found.push_back(entry.get());
  }
  std::ranges::sort(found, {}, [](auto* entry) -> const BucketKey& { return entry->target->key; });
  for (const BucketEntry* entry : found) {
    if (page.items.size() == limit) return false;
    page.items.push_back(ToRecord(*entry));
  }
  return true;
}

std::size_t BucketTable::size() const {
  std::size_t size = 0;
  for (const auto& stripe : stripes_) {
    const MutexLock lock(stripe->mutex);
    size += stripe->entries.size();
  }
  return size;
}

void BucketTable::EraseEntity(const std::string& entity) {
  for (const auto& stripe : stripes_) {
    const MutexLock lock(stripe->mutex);
    // Backwards: the last entry takes the place of one that is removed.
    for (std::size_t i = stripe->entries.size(); i-- > 0;) {
      BucketEntry& entry = *stripe->entries[i];
      if (entry.target->key.entity == entity) stripe->Remove(entry);
    }
  }
}

void BucketTable::SweepIdle(UnixMillis now) {
  for (const auto& stripe : stripes_) {
    const MutexLock lock(stripe->mutex);
    stripe->Sweep(stripe->entries.size(), now - options_.idle_grace);
  }
}

void BucketTable::Load(BucketRecord record) {
  std::vector<Limit> limits;
  limits.reserve(record.names.size());
  for (std::size_t i = 0; i < record.names.size(); ++i) {
    limits.push_back({std::move(record.names[i]), record.bucket.meters[i].quota});
  }
  const TargetPtr target = MakeTarget(std::move(record.key), std::move(limits));
  BucketStripe& stripe = *stripes_[StripeOf(target->hash)];
  const MutexLock lock(stripe.mutex);
  stripe.Add(target, std::move(record.bucket)).kept = true;
}

std::size_t BucketTable::DrainChanges(const ChangeSink& sink) {
  std::size_t drained = 0;
  for (const auto& stripe : stripes_) {
    const MutexLock lock(stripe->mutex);
    drained += stripe->removed.size() + stripe->changed.size();
    for (const TargetPtr& target : stripe->removed) {
      std::uint32_t mark = 0;
      sink(*target, nullptr, mark);
    }
    stripe->removed.clear();
    for (BucketEntry* entry : stripe->changed) {
      sink(*entry->target, &entry->bucket, entry->mark);
      entry->changed = false;
      entry->kept = true;
    }
    stripe->changed.clear();
  }
  return drained;
}

}  // namespace weir
