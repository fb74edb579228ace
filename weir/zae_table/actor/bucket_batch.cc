#include "weir/zae_table/actor/bucket_batch.h"

#include <algorithm>

namespace weir::dynamo {
namespace {

// Returns the index of the limit; the number of limits if there is none of this name.
std::size_t IndexIn(const Target& target, std::string_view name) {
  const auto found = std::ranges::find(target.limits, name, &Limit::name);
  return static_cast<std::size_t>(found - target.limits.begin());
}

}  // namespace

bool AreEqual(const Target& a, const Target& b) {
  if (&a == &b) return true;
  return a.source == b.source && a.key == b.key && a.limits == b.limits;
}

// The write is not dated before rf. If rf is ahead of the caller's time, the bucket gets no refill
// until the caller's time reaches rf, or rf is set back. This time, `unrefilled_for_`, is added to
// the waits.
BucketBatch::BucketBatch(const SeenBucket& seen, const Part& leader, UnixMillis now, Instant at)
    : seen_(seen),
      target_(leader.target),
      now_(now),
      adjusts_(leader.is_adjust()),
      sums_(target_->limits.size()) {
  if (const BucketImage* image = seen.image()) {
    const UnixMillis rf = image->bucket.time;
    unrefilled_for_ = std::max(seen.set_back_at().value_or(rf) - now, milliseconds(0));
    now_ = std::max(now, rf);
  }
  ComputeUpdates();
  conforms_ = seen_.is_absent() || Conforms(*seen_.image(), updates_);
  if (seen_.IsContended(at) && conforms_ && !adjusts_ && seen_.image() != nullptr) HoldRefill();
}

BucketRequest BucketBatch::Request() const {
  return {.target = *target_, .sums = sums_, .adjusts = adjusts_, .needs_image = is_bounded_};
}

void BucketBatch::ComputeUpdates() {
  updates_ = seen_.is_absent() ? NewLimitUpdates(Request())
                               : LimitUpdatesOf(*seen_.image(), Request(), now_);
}

// The hold is at most half of the time from rf until some limit is full: if rf were held longer,
// refill would be lost at the capacity.
void BucketBatch::HoldRefill() {
  const milliseconds elapsed = now_ - seen_.image()->bucket.time;
  milliseconds hold = kMinimumRefillTime;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const Meter& before = updates_[i].before;
    hold = std::min(hold, RetryAfter(before, before.quota.capacity) / 2);
  }
  refill_hold_ = std::max(hold - elapsed, milliseconds(0));
}

// Takes whose targets are equal share a write. Adjusts join takes of configured limits if the write
// changes no parameters. They do not join takes with an override: such a take is judged by copies
// of the limits, and an adjust does not apply to a copy.
bool BucketBatch::Suits(const Part& part) const {
  if (!part.is_adjust()) return !adjusts_ && AreEqual(*part.target, *target_);
  if (!adjusts_ && (!conforms_ || target_->source == LimitSource::kOverride)) return false;
  if (part.target == target_) return true;
  return std::ranges::all_of(part.target->limits, [&](const Limit& limit) {
    return IndexIn(*target_, limit.name) < target_->limits.size();
  });
}

// In adjusts and overrides, a limit joins the item, or an extra gets new parameters, only if tokens
// are taken from it. So the first amount of a limit changes its update.
void BucketBatch::AddAmounts(std::size_t limit, const MeterAmounts& amounts) {
  MeterAmounts& sum = sums_[limit];
  const bool is_first_use = sum.used() == 0 && amounts.used() > 0;
  sum.takes += amounts.takes;
  sum.debits += amounts.debits;
  sum.returns += amounts.returns;
  if (is_first_use && (adjusts_ || target_->source == LimitSource::kOverride)) ComputeUpdates();
}

// Adds limit by limit, and restores the sums if one of them exceeds its bound.
bool BucketBatch::AddAdjust(const Part& part) {
  const std::vector<MeterAmounts> before = sums_;
  for (std::size_t i = 0; i < part.amounts.size(); ++i) {
    const std::int64_t amount = part.amounts[i];
    const std::size_t limit =
        part.target == target_ ? i : IndexIn(*target_, part.target->limits[i].name);
    AddAmounts(limit, {.debits = std::max<std::int64_t>(amount, 0),
                       .returns = std::max<std::int64_t>(-amount, 0)});
    const LimitUpdate& update = updates_[limit];
    const bool fits = amount <= 0 ? sums_[limit].returns <= kMaxDebt
                                  : CanAdjust(update.conformed, sums_[limit].used());
    if (fits) continue;
    sums_ = before;
    ComputeUpdates();
    return false;
  }
  is_bounded_ = is_bounded_ || part.is_bounded();
  ++parts_;
  return true;
}

// While rf is held, the refill since rf does not count.
Meter BucketBatch::JudgedMeter(std::size_t limit) const {
  const LimitUpdate& update = updates_[limit];
  Meter judged = update.judged;
  if (refill_hold_ > milliseconds(0))
    judged.tokens -= update.conformed.tokens - update.before.tokens;
  Adjust(judged, -sums_[limit].returns);
  return judged;
}

// A take that does not fit now waits at least until the hold ends.
milliseconds BucketBatch::WaitOf(const Meter& judged, std::int64_t amount) const {
  const milliseconds wait = amount == 0 ? milliseconds(0) : RetryAfter(judged, amount);
  if (wait == milliseconds(0)) return wait;
  return std::max(wait, refill_hold_) + unrefilled_for_;
}

TakeVerdict BucketBatch::Judge(std::span<const std::int64_t> amounts,
                               std::span<const std::int64_t> used) {
  TakeVerdict verdict;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    Meter judged = JudgedMeter(i);
    judged.tokens -= sums_[i].takes + (used.empty() ? 0 : used[i]);
    verdict.available.push_back(judged.tokens);
    const milliseconds wait = WaitOf(judged, amounts[i]);
    verdict.waits.push_back(wait);
    verdict.wait = std::max(verdict.wait, wait);
  }
  return verdict;
}

bool BucketBatch::is_tight() const {
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (sums_[i].takes > JudgedMeter(i).tokens / 2) return true;
  }
  return false;
}

TakeVerdict BucketBatch::AddTake(std::span<const std::int64_t> amounts,
                                 std::span<const std::int64_t> used) {
  TakeVerdict verdict = Judge(amounts, used);
  if (verdict.wait > milliseconds(0)) return verdict;
  for (std::size_t i = 0; i < amounts.size(); ++i) AddAmounts(i, {.takes = amounts[i]});
  ++parts_;
  return verdict;
}

}  // namespace weir::dynamo
