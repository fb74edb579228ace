#include "weir/kinesis/shards/shard_limiter.h"

#include <algorithm>
#include <utility>

namespace weir::kinesis {
namespace {

std::int64_t MillisBetween(Instant from, Instant to) {
  return std::chrono::floor<milliseconds>(to - from).count();
}

// Multiplies the period by 100 instead of dividing the amount, since a percentage of a small amount
// would be rounded. Bounds the number of shards so that the products do not overflow.
Quota RatedAt(const Quota& quota, std::int64_t percent, std::int64_t shards) {
  const std::int64_t max_scale = kMaxMillitokens / std::max(quota.capacity, quota.amount * 100);
  const std::int64_t scale =
      std::clamp<std::int64_t>(shards, 1, std::max<std::int64_t>(1, max_scale));
  return {quota.capacity * scale, quota.amount * percent * scale, quota.period * 100};
}

std::int64_t CostIn(const KinesisRecord& record) {
  return static_cast<std::int64_t>(record.bytes()) * kMillitokens;
}

// A cost larger than the capacity waits for a full bucket.
milliseconds WaitUntilThere(const Meter& meter, std::int64_t cost) {
  return RetryAfter(meter, std::min(cost, meter.quota.capacity));
}

}  // namespace

ShardLimiter::ShardLimiter(const ShardLimiterOptions& options, Instant now)
    : options_(options),
      origin_(now),
      records_(FullMeter(RatedAt(options.records, 100, 1))),
      bytes_(FullMeter(RatedAt(options.bytes, 100, 1))),
      recovered_(now) {}

void ShardLimiter::Put(KinesisRecord record) {
  const Instant deadline = record.deadline;
  const Instant expires = record.expires;
  const auto waiting = queue_.emplace(deadline, Waiting{std::move(record), {}});
  waiting->second.expiry = expiries_.emplace(expires, waiting);
}

ShardLimiter::Drained ShardLimiter::Drain(Instant now) {
  AdvanceTo(now);
  Drained drained;
  DrainExpired(now, drained);
  while (!queue_.empty()) {
    const auto first = NextToLeave(now);
    if (WaitFor(first->second.record) > milliseconds(0)) break;
    drained.admitted.push_back(RemoveRecord(first));
    ChargeFor(drained.admitted.back());
  }
  return drained;
}

ShardLimiter::Queue::iterator ShardLimiter::NextToLeave(Instant now) {
  const auto first = queue_.begin();
  if (first->second.record.expires > now + lead_) return first;
  // Of the records that expire after the lead, the one that expires first leaves next.
  const auto after_lead = expiries_.upper_bound(now + lead_);
  return after_lead == expiries_.end() ? first : after_lead->second;
}

ShardLimiter::Drained ShardLimiter::DrainAll(Instant now) {
  AdvanceTo(now);
  Drained drained;
  DrainExpired(now, drained);
  while (!queue_.empty()) {
    drained.admitted.push_back(RemoveRecord(queue_.begin()));
    ChargeFor(drained.admitted.back());
  }
  return drained;
}

std::optional<Instant> ShardLimiter::NextWake(Instant now) {
  if (queue_.empty()) return std::nullopt;
  const milliseconds wait = WaitFor(NextToLeave(now)->second.record);
  // Meters are refilled in whole milliseconds since origin_, so the wait counts from the last
  // refill.
  const Instant fits = origin_ + milliseconds(millis_) + wait;
  return std::max(now, std::min(fits, expiries_.begin()->first));
}

void ShardLimiter::OnThrottled(Instant now) {
  if (slowed_ && now - *slowed_ < options_.throttle_blackout) return;
  AdvanceTo(now);
  slowed_ = now;
  recovered_ = now;
  // The limiter of n shards may slow down to 1 / n of least_percent, which is the least rate of one
  // shard, but not below 1 %.
  const std::int64_t min_percent = std::max<std::int64_t>(1, options_.least_percent / shards_);
  SetPercent(std::max(percent_ * options_.after_throttle / 100, min_percent));
}

void ShardLimiter::AdvanceTo(Instant now) {
  const std::int64_t millis = MillisBetween(origin_, now);
  if (millis > millis_) {
    Refill(records_, millis - millis_);
    Refill(bytes_, millis - millis_);
    millis_ = millis;
  }
  // The rate comes back in whole steps. The time that is left over counts for the next step.
  const std::int64_t steps = (now - recovered_) / options_.recovery;
  if (steps <= 0) return;
  recovered_ = recovered_ + steps * options_.recovery;
  if (percent_ < 100) SetPercent(std::min<std::int64_t>(100, percent_ + steps));
}

void ShardLimiter::SetPercent(std::int64_t percent) {
  percent_ = percent;
  ChangeQuota(records_, AtPresentRate(options_.records));
  ChangeQuota(bytes_, AtPresentRate(options_.bytes));
}

Quota ShardLimiter::AtPresentRate(const Quota& quota) const {
  return RatedAt(quota, percent_, shards_);
}

void ShardLimiter::SetShards(std::int64_t shards, Instant now) {
  if (shards == shards_) return;
  AdvanceTo(now);
  shards_ = shards;
  SetPercent(percent_);
}

void ShardLimiter::TakeAll(std::vector<KinesisRecord>& out) {
  while (!queue_.empty()) out.push_back(RemoveRecord(queue_.begin()));
}

KinesisRecord ShardLimiter::RemoveRecord(Queue::iterator waiting) {
  KinesisRecord record = std::move(waiting->second.record);
  expiries_.erase(waiting->second.expiry);
  queue_.erase(waiting);
  return record;
}

void ShardLimiter::DrainExpired(Instant now, Drained& drained) {
  while (!expiries_.empty() && expiries_.begin()->first <= now) {
    drained.expired.push_back(RemoveRecord(expiries_.begin()->second));
  }
}

milliseconds ShardLimiter::WaitFor(const KinesisRecord& record) const {
  return std::max(WaitUntilThere(records_, kMillitokens), WaitUntilThere(bytes_, CostIn(record)));
}

void ShardLimiter::ChargeFor(const KinesisRecord& record) {
  Adjust(records_, kMillitokens);
  Adjust(bytes_, CostIn(record));
}

}  // namespace weir::kinesis
