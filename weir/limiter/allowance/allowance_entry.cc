#include "weir/limiter/allowance/allowance_entry.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

using Millis = Allowance::Millis;

// Returns the shortest lifetime, which is valid for each of the limits.
milliseconds LifetimeOf(const std::vector<TargetPtr>& targets) {
  milliseconds lifetime = kMaxAllowance;
  for (const TargetPtr& target : targets) {
    for (const Limit& limit : target->limits) {
      if (limit.allowance > milliseconds(0)) lifetime = std::min(lifetime, limit.allowance);
    }
  }
  return lifetime;
}

std::vector<Quota> QuotasOf(const std::vector<TargetPtr>& targets) {
  std::vector<Quota> quotas;
  for (const TargetPtr& target : targets) {
    for (const Limit& limit : target->limits) quotas.push_back(limit.quota);
  }
  return quotas;
}

// Returns the tokens left in the bucket; 0 if it is in debt or not known.
std::int64_t LeftOf(std::int64_t left) {
  return left == Allowance::kNotSeen ? 0 : std::max<std::int64_t>(left, 0);
}

// Marks the limits with fewer available than requested tokens. If there are none, marks the limits
// of which this process held fewer than requested.
void MarkExceeded(Decision& refusal, const Millis& held) {
  const auto is_short = [](const LimitStatus& one) { return one.requested > one.available; };
  const bool any_short = std::ranges::any_of(refusal.limits, is_short);
  for (std::size_t i = 0; i < held.size(); ++i) {
    LimitStatus& status = refusal.limits[i];
    status.exceeded = any_short ? is_short(status) : status.requested > held[i];
    if (status.exceeded) status.retry_after = refusal.retry_after;
  }
}

}  // namespace

bool HaveAllowance(std::span<const TargetPtr> targets) {
  return std::ranges::any_of(targets, [](const TargetPtr& target) {
    return std::ranges::any_of(
        target->limits, [](const Limit& limit) { return limit.allowance > milliseconds(0); });
  });
}

bool MayBeServed(const std::vector<Charge>& charges) {
  bool any = false;
  for (const Charge& charge : charges) {
    for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
      if (charge.amounts[i] == 0) continue;
      if (charge.target->limits[i].allowance == milliseconds(0)) return false;
      any = true;
    }
  }
  return any;
}

// The functions below walk the targets and some charges in parallel. Charges are in the order of
// the targets; targets without a charge are skipped.

AllowanceEntry::AllowanceEntry(std::vector<TargetPtr> buckets)
    : own(buckets.front()),
      targets(std::move(buckets)),
      allowance(LifetimeOf(targets), QuotasOf(targets)) {}

std::vector<Charge> AllowanceEntry::ChargesOf(Allowance::View amounts) const {
  std::vector<Charge> charges;
  std::size_t at = 0;
  for (const TargetPtr& target : targets) {
    const auto part = amounts.subspan(at, target->limits.size());
    at += part.size();
    if (SumOf(part) == 0) continue;
    charges.push_back(
        {.target = target, .amounts = {part.begin(), part.end()}, .resolved_at = resolved_at});
  }
  return charges;
}

std::vector<Charge> AllowanceEntry::ChargesOf(const Allowance::Return& back) const {
  std::vector<Charge> charges = ChargesOf(Allowance::View(back.amounts));
  auto target = targets.begin();
  for (Charge& charge : charges) {
    while (*target != charge.target) ++target;
    const auto at = static_cast<std::size_t>(target - targets.begin());
    if (at < back.paid_by.size()) charge.shard = back.paid_by[at];
    for (std::int64_t& amount : charge.amounts) amount = -amount;
  }
  return charges;
}

Allowance::Shards AllowanceEntry::PaidBy(const std::vector<Charge>& charges,
                                         const Decision& decision) const {
  if (decision.shards.size() != charges.size()) return {};
  Allowance::Shards shards(targets.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < targets.size() && next < charges.size(); ++i) {
    if (SameBucket(*charges[next].target, *targets[i])) shards[i] = decision.shards[next++];
  }
  return shards;
}

std::optional<Millis> AllowanceEntry::NeedOf(const std::vector<Charge>& charges) {
  Millis need;
  std::size_t next = 0;
  for (TargetPtr& target : targets) {
    const std::size_t first = need.size();
    need.resize(first + target->limits.size());
    if (next == charges.size() || !SameBucket(*charges[next].target, *target)) continue;
    const Charge& charge = charges[next++];
    if (charge.target != target) {
      if (charge.target->limits != target->limits) return std::nullopt;
      // Resolved again, with the same limits. Those of a request do not replace them: their debits
      // would store nothing, and could not be resolved again.
      if (charge.target->source == LimitSource::kConfigured) target = charge.target;
    }
    std::ranges::copy(charge.amounts, need.begin() + static_cast<std::ptrdiff_t>(first));
  }
  if (next != charges.size()) return std::nullopt;
  // The charges cover all targets, so the limits of all of them were read again and are the same.
  if (next == targets.size()) NoteResolved(charges.front().resolved_at);
  return need;
}

// Limits that a caller gives are never outdated. If they are equal to limits that were read, those
// still may be: another process may have changed them since.
void AllowanceEntry::NoteResolved(Instant at) {
  if (at == kGiven) return;
  resolved_at = resolved_at == kGiven ? at : std::max(resolved_at, at);
}

Millis AllowanceEntry::AvailableOf(const std::vector<Charge>& charges,
                                   const Decision& decision) const {
  Millis available;
  std::size_t next = 0;
  auto status = decision.limits.begin();
  for (const TargetPtr& target : targets) {
    const bool is_charged = next < charges.size() && SameBucket(*charges[next].target, *target);
    next += is_charged;
    for (std::size_t i = 0; i < target->limits.size(); ++i) {
      const bool is_in_decision = is_charged && status != decision.limits.end();
      available.push_back(is_in_decision ? (status++)->available : Allowance::kNotSeen);
    }
  }
  return available;
}

Decision AllowanceEntry::DecisionOf(const std::vector<Charge>& charges, const Millis& held,
                                    milliseconds wait) const {
  Decision decision{.admitted = wait == milliseconds(0), .retry_after = wait, .limits = {}};
  decision.limits.reserve(held.size());
  Millis held_here;
  std::size_t at = 0;
  std::size_t next = 0;
  for (const TargetPtr& target : targets) {
    const std::size_t first = std::exchange(at, at + target->limits.size());
    if (next == charges.size() || !SameBucket(*charges[next].target, *target)) continue;
    const Charge& charge = charges[next++];
    for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
      const std::int64_t available = held[first + i] + LeftOf(allowance.left()[first + i]);
      held_here.push_back(held[first + i]);
      decision.limits.emplace_back(target->key.entity, target->key.resource, target->limits[i].name,
                                   target->limits[i].quota.capacity, available, charge.amounts[i]);
    }
  }
  decision.of_shards = shard_count;
  if (!decision.admitted) MarkExceeded(decision, held_here);
  return decision;
}

}  // namespace weir
