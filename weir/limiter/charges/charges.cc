#include "weir/limiter/charges/charges.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/limiter/charges/amount_checks.h"
#include "weir/model/reserved_allowance.h"

namespace weir {
namespace {

enum class Sign { kNotNegative, kSigned };

Status CheckAmounts(const Amounts& amounts, Sign sign) {
  if (amounts.empty()) {
    return Fail(Code::kInvalidArgument,
                "no amounts are asked for; name at least one limit, like rpm=1");
  }
  for (const auto& [limit, tokens] : amounts) {
    if (tokens.milli() >= 0 || sign == Sign::kSigned) continue;
    return Fail(Code::kInvalidArgument,
                fmt::format("limit {} is asked for {} tokens; an amount must not be negative",
                            limit, FormatTokens(tokens.milli())));
  }
  return CheckNamedOnce(amounts);
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

// Fails if `amount`, the amount of one part, is out of bounds. If amounts are signed, also fails if
// the sum of the parts so far is.
Status CheckAmount(const Charge& charge, std::size_t index, Tokens amount, const PartView& part,
                   Sign sign) {
  const Target& target = *charge.target;
  if (sign == Sign::kSigned) {
    WEIR_RETURN_IF_ERROR(CheckSize(target, index, amount.milli()));
    return CheckSize(target, index, charge.amounts[index]);
  }
  if (amount.milli() <= target.limits[index].quota.capacity) return {};
  if (part.may_exceed_capacity) return CheckSize(target, index, amount.milli());
  return Fail(NeverPossible(target, target.limits[index], amount));
}

// Adds the amounts of the limits that the target has.
Status AddAmounts(Charge& charge, const PartView& part, bool needs_all, Sign sign) {
  const Target& target = *charge.target;
  for (const auto& [name, tokens] : part.amounts) {
    const auto index = IndexOf(target, name);
    if (!index && IsBlocked(target, name)) continue;
    if (!index && needs_all) return Fail(UnknownLimit(target, name));
    if (!index) continue;
    charge.amounts.resize(target.limits.size());
    std::int64_t& sum = charge.amounts[*index];
    sum = SaturatingAdd(sum, tokens.milli());
    WEIR_RETURN_IF_ERROR(CheckAmount(charge, *index, tokens, part, sign));
  }
  return {};
}

// Returns the charge of this target; adds one without amounts if there is none.
Charge& FindOrAdd(std::vector<Charge>& charges, const TargetPtr& target, Instant resolved_at) {
  const auto found = std::ranges::find(charges, target, &Charge::target);
  if (found != charges.end()) {
    found->resolved_at = std::max(found->resolved_at, resolved_at);
    return *found;
  }
  return charges.emplace_back(Charge{.target = target, .amounts = {}, .resolved_at = resolved_at});
}

Status AddPart(std::vector<Charge>& charges, const PartView& part, Sign sign) {
  WEIR_RETURN_IF_ERROR(CheckAmounts(part.amounts, sign));
  for (const TargetPtr& target : part.targets) {
    Charge& charge = FindOrAdd(charges, target, part.resolved_at);
    const bool is_own = &target == &part.targets.front();
    WEIR_RETURN_IF_ERROR(AddAmounts(charge, part, is_own, sign));
    if (charge.amounts.empty()) charges.pop_back();  // just added; has none of the limits
  }
  return {};
}

Result<std::vector<Charge>> AddParts(std::span<const PartView> parts, Sign sign) {
  std::vector<Charge> charges;
  charges.reserve(parts.front().targets.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Status added = AddPart(charges, parts[i], sign);
    if (added) continue;
    const BucketKey& pair = parts[i].targets.front()->key;
    return Fail(NamePart(std::move(added.error()), i, parts.size(), pair));
  }
  if (charges.size() <= kMaxCharges) return charges;
  return Fail(Code::kInvalidArgument,
              fmt::format("a request charges {} buckets with its parts and their parents; at most "
                          "{} are allowed",
                          charges.size(), kMaxCharges));
}

}  // namespace

Result<std::vector<Charge>> MakeCharges(std::span<const PartView> parts) {
  return AddParts(parts, Sign::kNotNegative);
}

Result<std::vector<Charge>> MakeCharges(std::span<const TargetPtr> targets,
                                        const Amounts& amounts) {
  const PartView part{.targets = targets, .amounts = amounts};
  return MakeCharges({&part, 1});
}

Result<std::vector<Charge>> MakeCharges(const Resolved& resolved, const Amounts& amounts) {
  const PartView part = PartOf(resolved, amounts);
  return MakeCharges({&part, 1});
}

Result<std::vector<Charge>> MakeSignedCharges(std::span<const PartView> parts) {
  WEIR_ASSIGN_OR_RETURN(std::vector<Charge> charges, AddParts(parts, Sign::kSigned));
  std::erase_if(charges, ChangesNothing);
  return charges;
}

bool IsOverCapacity(std::span<const Charge> charges) {
  return std::ranges::any_of(charges, [](const Charge& charge) {
    for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
      if (charge.amounts[i] > charge.target->limits[i].quota.capacity) return true;
    }
    return false;
  });
}

std::vector<Charge> MakeUncharged(std::span<const PartView> parts,
                                  std::span<const Charge> charges) {
  std::vector<Charge> uncharged;
  for (const PartView& part : parts) {
    for (const TargetPtr& target : part.targets) {
      const auto blocks = [&](const Amount& amount) { return IsBlocked(*target, amount.limit); };
      if (target->blocked.empty() || std::ranges::none_of(part.amounts, blocks)) continue;
      if (std::ranges::find(charges, target, &Charge::target) != charges.end()) continue;
      if (std::ranges::find(uncharged, target, &Charge::target) != uncharged.end()) continue;
      uncharged.push_back(EmptyCharge(target));
    }
  }
  return uncharged;
}

bool HasAnyOf(const Target& target, const Amounts& amounts) {
  return std::ranges::any_of(amounts, [&](const Amount& amount) {
    return IndexOf(target, amount.limit) || IsBlocked(target, amount.limit);
  });
}

Error NamePart(Error error, std::size_t index, std::size_t count, const BucketKey& pair) {
  if (count == 1) return error;
  const std::string name = fmt::format("{}/{}: ", pair.entity, pair.resource);
  const bool is_named = error.message.starts_with(name);
  error.message =
      fmt::format("part {} of {}, {}{}", index + 1, count, is_named ? "" : name, error.message);
  error.part = static_cast<std::uint32_t>(index);
  return error;
}

std::vector<BucketKey> KeysOf(std::span<const Charge> charges) {
  std::vector<BucketKey> keys;
  keys.reserve(charges.size());
  for (const Charge& charge : charges) keys.push_back(charge.target->key);
  return keys;
}

}  // namespace weir
