#include "weir/limiter/peek.h"

#include <algorithm>
#include <utility>

#include "weir/limiter/charges/charges.h"
#include "weir/limiter/charges/refusals.h"

namespace weir {
namespace {

std::vector<Charge> ZeroCharges(const Resolved& resolved) {
  std::vector<Charge> charges;
  for (const TargetPtr& target : resolved.targets) {
    charges.push_back(
        {.target = target, .amounts = std::vector<std::int64_t>(target->limits.size())});
  }
  return charges;
}

Result<std::vector<Charge>> ChargesOf(const Resolved& resolved, const Amounts& amounts) {
  if (amounts.empty()) return ZeroCharges(resolved);
  return MakeCharges(resolved, amounts);
}

Level::Kind LevelOf(const Resolved& resolved, const Target& target) {
  const auto found = std::ranges::find_if(
      resolved.targets, [&](const TargetPtr& one) { return SameBucket(*one, target); });
  return resolved.kinds[static_cast<std::size_t>(found - resolved.targets.begin())];
}

// Adds the statuses of the limits that block: the buckets do not contain these limits.
void AddBlocked(const Resolved& resolved, const Amounts& amounts, Peeked& peeked) {
  for (LimitStatus& status : BlockedLimits(resolved.targets, amounts)) {
    const auto target = std::ranges::find(resolved.targets, status.entity,
                                          [](const TargetPtr& one) { return one->key.entity; });
    peeked.levels.push_back(LevelOf(resolved, **target));
    if (status.exceeded) peeked.decision.admitted = false;
    peeked.decision.retry_after = std::max(peeked.decision.retry_after, status.retry_after);
    peeked.decision.limits.push_back(std::move(status));
  }
}

Peeked MakePeeked(const Resolved& resolved, const std::vector<Charge>& charges, Decision decision) {
  decision.admitted = std::ranges::none_of(decision.limits, &LimitStatus::exceeded);
  if (decision.admitted) decision.retry_after = milliseconds(0);
  Peeked peeked{.decision = std::move(decision), .levels = {}};
  for (const Charge& charge : charges) {
    peeked.levels.insert(peeked.levels.end(), charge.target->limits.size(),
                         LevelOf(resolved, *charge.target));
  }
  return peeked;
}

}  // namespace

void Peek(Resolver& resolver, BucketStore& store, const PeekRequest& request, Deadline deadline,
          Done<Peeked> done) {
  resolver.Resolve(
      request.entity, request.resource, deadline,
      [&store, amounts = request.amounts, deadline, done = std::move(done)](auto found) mutable {
        if (!found) return done(Fail(std::move(found.error())));
        auto charges = ChargesOf(**found, amounts);
        if (!charges) return done(Fail(std::move(charges.error())));
        const std::vector<BucketKey> keys = KeysOf(*charges);
        store.Read(keys, deadline,
                   [&store, resolved = *found, charges = *std::move(charges),
                    amounts = std::move(amounts), done = std::move(done)](auto records) mutable {
                     if (!records) return done(Fail(std::move(records.error())));
                     Peeked peeked =
                         MakePeeked(*resolved, charges,
                                    RefusalOf(charges, *records, store.Now(), milliseconds(0)));
                     AddBlocked(*resolved, amounts, peeked);
                     done(std::move(peeked));
                   });
      });
}

}  // namespace weir
