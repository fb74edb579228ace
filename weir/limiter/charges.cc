#include "weir/limiter/charges.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/base/bucket_time.h"
#include "weir/model/reserved_allowance.h"
#include "weir/store/bucket/bucket_state.h"

namespace weir {
namespace {

std::optional<std::size_t> IndexOf(const Target& target, std::string_view name) {
  for (std::size_t i = 0; i < target.limits.size(); ++i) {
    if (target.limits[i].name == name) return i;
  }
  return std::nullopt;
}

std::string NameOf(const Target& target) {
  return fmt::format("{}/{}", target.key.entity, target.key.resource);
}

Status CheckNamedOnce(const Amounts& amounts) {
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (amounts[i].limit != amounts[j].limit) continue;
      return Fail(Code::kInvalidArgument,
                  fmt::format("limit {} is named twice; add the amounts up", amounts[i].limit));
    }
  }
  return {};
}

Status CheckAmounts(const Amounts& amounts) {
  if (amounts.empty()) {
    return Fail(Code::kInvalidArgument,
                "no amounts are asked for; name at least one limit, like rpm=1");
  }
  for (const auto& [limit, tokens] : amounts) {
    if (tokens.milli() >= 0) continue;
    return Fail(Code::kInvalidArgument,
                fmt::format("limit {} is asked for {} tokens; an amount must not be negative",
                            limit, FormatTokens(tokens.milli())));
  }
  return CheckNamedOnce(amounts);
}

Error UnknownLimit(const Target& target, std::string_view name) {
  std::vector<std::string_view> known;
  known.reserve(target.limits.size());
  for (const Limit& limit : target.limits) known.push_back(limit.name);
  return {Code::kInvalidArgument, fmt::format("{}: no limit is called '{}'; known are {}",
                                              NameOf(target), name, fmt::join(known, ", "))};
}

Error NeverPossible(const Target& target, const Limit& limit, Tokens tokens) {
  std::string message = fmt::format(
      "{}: limit {} is asked for {} tokens, which is never possible; its capacity is {}",
      NameOf(target), limit.name, FormatTokens(tokens.milli()), FormatTokens(limit.quota.capacity));
  if (const std::int64_t aside = ReservedFor(limit); aside > 0) {
    message += fmt::format(", after {} of {} were set aside for its allowance", FormatTokens(aside),
                           FormatTokens(limit.quota.capacity + aside));
  }
  return {Code::kInvalidArgument, std::move(message)};
}

// Sets the amounts of the limits that the target has. Returns false if it has none of them.
Result<bool> FillAmounts(Charge& charge, const Amounts& amounts, bool needs_all) {
  const Target& target = *charge.target;
  bool any = false;
  for (const auto& [name, tokens] : amounts) {
    const auto index = IndexOf(target, name);
    if (!index && needs_all) return Fail(UnknownLimit(target, name));
    if (!index) continue;
    const Limit& limit = target.limits[*index];
    if (tokens.milli() > limit.quota.capacity) return Fail(NeverPossible(target, limit, tokens));
    charge.amounts[*index] = tokens.milli();
    any = true;
  }
  return any;
}

Status CheckSize(const Target& target, std::size_t index, std::int64_t delta) {
  if (delta >= -kMaxMillitokens && delta <= kMaxMillitokens) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("{}: limit {} is adjusted by {} tokens; at most {} either way", NameOf(target),
                  target.limits[index].name, FormatTokens(delta), FormatTokens(kMaxMillitokens)));
}

Status CheckHeld(const Charge& held, const Charge& delta) {
  for (std::size_t i = 0; i < delta.amounts.size(); ++i) {
    if (delta.amounts[i] >= 0 || held.amounts[i] + delta.amounts[i] >= 0) continue;
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: {} tokens of limit {} are given back; the lease holds {}",
                            NameOf(*held.target), FormatTokens(-delta.amounts[i]),
                            held.target->limits[i].name, FormatTokens(held.amounts[i])));
  }
  return {};
}

template <class Held>
auto& ChargeOf(Held& held, const TargetPtr& target) {
  return *std::ranges::find(held, target, &Charge::target);
}

std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return b < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

// Adds part(delta) for each delta.
template <class Part>
void AddParts(std::vector<Charge>& held, std::span<const Charge> deltas, Part part) {
  for (const Charge& delta : deltas) {
    Charge& charge = ChargeOf(held, delta.target);
    for (std::size_t i = 0; i < delta.amounts.size(); ++i) {
      charge.amounts[i] = SaturatingAdd(charge.amounts[i], part(delta.amounts[i]));
    }
  }
}

bool ChangesNothing(const Charge& charge) {
  return std::ranges::all_of(charge.amounts, [](std::int64_t amount) { return amount == 0; });
}

Charge EmptyCharge(const TargetPtr& target) {
  return {.target = target, .amounts = std::vector<std::int64_t>(target->limits.size(), 0)};
}

// Returns the time by which `now` is behind the meter's time: nothing is refilled before that. A
// meter that is too far ahead is set to `now` by the next request, so it adds no wait.
milliseconds BehindOf(const MeterView& view) {
  return view.behind > kMostAhead ? milliseconds(0) : view.behind;
}

}  // namespace

Result<std::vector<Charge>> MakeCharges(std::span<const TargetPtr> targets,
                                        const Amounts& amounts) {
  WEIR_RETURN_IF_ERROR(CheckAmounts(amounts));
  std::vector<Charge> charges;
  charges.reserve(targets.size());
  for (const TargetPtr& target : targets) {
    charges.push_back(EmptyCharge(target));
    WEIR_ASSIGN_OR_RETURN(const bool any,
                          FillAmounts(charges.back(), amounts, charges.size() == 1));
    if (!any) charges.pop_back();
  }
  return charges;
}

Result<std::vector<Charge>> MakeCharges(const Resolved& resolved, const Amounts& amounts) {
  WEIR_ASSIGN_OR_RETURN(std::vector<Charge> charges,
                        MakeCharges(std::span<const TargetPtr>(resolved.targets), amounts));
  for (Charge& charge : charges) charge.resolved_at = resolved.began;
  return charges;
}

Result<std::vector<Charge>> MakeDeltas(std::span<const Charge> held, const Amounts& amounts) {
  WEIR_RETURN_IF_ERROR(CheckNamedOnce(amounts));
  std::vector<Charge> deltas;
  for (const Charge& charge : held) {
    deltas.push_back(EmptyCharge(charge.target));
    deltas.back().shard = charge.shard;
  }
  for (const auto& [name, tokens] : amounts) {
    bool known = false;
    for (std::size_t i = 0; i < held.size(); ++i) {
      const auto index = IndexOf(*held[i].target, name);
      if (!index) continue;
      known = true;
      WEIR_RETURN_IF_ERROR(CheckSize(*held[i].target, *index, tokens.milli()));
      deltas[i].amounts[*index] = tokens.milli();
    }
    if (!known) return Fail(UnknownLimit(*held.front().target, name));
  }
  std::erase_if(deltas, ChangesNothing);
  return deltas;
}

Status CheckHeld(std::span<const Charge> held, std::span<const Charge> deltas) {
  for (const Charge& delta : deltas) {
    WEIR_RETURN_IF_ERROR(CheckHeld(ChargeOf(held, delta.target), delta));
  }
  return {};
}

void AddNegative(std::vector<Charge>& held, std::span<const Charge> deltas) {
  AddParts(held, deltas, [](std::int64_t delta) { return std::min<std::int64_t>(delta, 0); });
}

void AddPositive(std::vector<Charge>& held, std::span<const Charge> deltas) {
  AddParts(held, deltas, [](std::int64_t delta) { return std::max<std::int64_t>(delta, 0); });
}

void RestoreNegative(std::vector<Charge>& held, std::span<const Charge> deltas) {
  AddParts(held, deltas, [](std::int64_t delta) { return -std::min<std::int64_t>(delta, 0); });
}

std::vector<Charge> OppositeOf(std::span<const Charge> held) {
  std::vector<Charge> deltas(held.begin(), held.end());
  for (Charge& charge : deltas) {
    // An adjust is bounded by kMaxMillitokens. Held tokens beyond it, which only positive adjusts
    // can have taken, stay taken.
    for (std::int64_t& amount : charge.amounts) amount = -std::min(amount, kMaxMillitokens);
  }
  std::erase_if(deltas, ChangesNothing);
  return deltas;
}

std::size_t LongestRefusal(std::span<const Charge> charges, const Decision& refusal) {
  std::size_t longest = 0;
  milliseconds wait{-1};
  auto status = refusal.limits.begin();
  for (std::size_t i = 0; i < charges.size(); ++i) {
    for (std::size_t j = 0; j < charges[i].amounts.size(); ++j) {
      if (status == refusal.limits.end()) return longest;
      if (status->retry_after > wait) {
        wait = status->retry_after;
        longest = i;
      }
      ++status;
    }
  }
  return longest;
}

Decision RefusalOf(std::span<const Charge> charges,
                   std::span<const std::optional<BucketRecord>> records, UnixMillis now,
                   milliseconds at_least) {
  Decision refusal{
      .admitted = false, .retry_after = std::max(at_least, milliseconds(1)), .limits = {}};
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const Target& target = *charges[i].target;
    for (std::size_t j = 0; j < target.limits.size(); ++j) {
      const Limit& limit = target.limits[j];
      const std::int64_t amount = charges[i].amounts[j];
      const BucketRecord* record = records[i] ? &*records[i] : nullptr;
      const MeterView view = ViewOf(record, target, j, now);
      const Meter& meter = view.meter;
      milliseconds wait = RetryAfter(meter, amount);
      if (wait > milliseconds(0)) wait += BehindOf(view);
      refusal.retry_after = std::max(refusal.retry_after, wait);
      refusal.limits.push_back({.entity = target.key.entity,
                                .resource = target.key.resource,
                                .limit = limit.name,
                                .capacity = limit.quota.capacity,
                                .available = meter.tokens,
                                .requested = amount,
                                .exceeded = wait > milliseconds(0),
                                .retry_after = wait});
    }
  }
  return refusal;
}

}  // namespace weir
